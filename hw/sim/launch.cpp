// Entry point of a Verilator simulation that is loaded into a running Python interpreter (see launch.py).
// It does not return: by then cocotb has finalised the interpreter that called it.
#include <cstdio>
#include <cstdlib>

extern "C" int main(int argc, char** argv);

extern "C" void sluice_start(int argc, char** argv) {
    const int status = main(argc, argv);
    std::fflush(nullptr);
    std::_Exit(status);
}
