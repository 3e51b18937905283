void variable_size(int n, int m, int a[n][m], int b[m][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      b[j][i] = a[i][j] + n * j;
#pragma endscop
}
