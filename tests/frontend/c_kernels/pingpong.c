#define N 10
void pingpong(int data[N], int out[N]) {
  int buffer[2][N];
#pragma scop
  for (int i = 0; i < N; i++) buffer[0][i] = data[i];
  for (int t = 0; t < 5; t++)
    for (int i = 0; i < N; i++)
      buffer[(t + 1) % 2][i] = buffer[t % 2][i > 0 ? i - 1 : N - 1] + t * i;
  for (int i = 0; i < N; i++) out[i] = buffer[5 & 1][i];
#pragma endscop
}
