// A caller of the library kinds, in C++. usage: kinds FOLDER M N shift off weight rule iterations... (-1 runs)
#include "kinds.h"

#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Free {
    void operator()(kinds *h) const { kinds_exit(&h); }
};
using Handle = std::unique_ptr<kinds, Free>;

static void check(int status, const Handle &h)
{
    if (status != KINDS_OK)
        throw std::runtime_error(std::string(kinds_message(status)) + ": " + kinds_error(h.get()));
}

template <typename T> struct Grid {
    int number;
    std::vector<T> cells;

    Grid(const Handle &h, int n, const std::string &folder, int64_t &given) : number(n)
    {
        int64_t bytes = 0;
        check(kinds_bytes(h.get(), number, &bytes), h);
        cells.resize(static_cast<size_t>(bytes) / sizeof(T));
        std::ifstream in(folder + "/" + kinds_grid_name(number) + ".in", std::ios::binary);
        if (in.read(reinterpret_cast<char *>(cells.data()), bytes))
            given |= int64_t{1} << number;
    }

    void write(const std::string &folder) const
    {
        std::ofstream out(folder + "/" + kinds_grid_name(number) + ".out", std::ios::binary);
        out.write(reinterpret_cast<const char *>(cells.data()), static_cast<std::streamsize>(cells.size() * sizeof(T)));
    }
};

int main(int argc, char **argv)
try {
    const std::vector<std::string> arg(argv, argv + argc);
    kinds *raw = nullptr;
    check(kinds_new(&raw), nullptr);
    const Handle h(raw);
    check(kinds_configure(raw, std::stoll(arg.at(2)), std::stoll(arg.at(3)), arg.at(5) == "true", std::stoi(arg.at(4)),
                          std::stof(arg.at(6)), static_cast<uint8_t>(std::stoi(arg.at(7)))), h);
    int64_t given = KINDS_NONE_GIVEN;
    const std::string folder = arg.at(1);
    Grid<uint8_t> cells(h, KINDS_GRID_cells, folder, given), mask(h, KINDS_GRID_mask, folder, given);
    Grid<int32_t> count(h, KINDS_GRID_count, folder, given), births(h, KINDS_GRID_births, folder, given);
    Grid<float> f(h, KINDS_GRID_f, folder, given);
    Grid<double> d(h, KINDS_GRID_d, folder, given);
    const auto call = [&](auto function, auto... first) {
        check(function(raw, first..., cells.cells.data(), mask.cells.data(), count.cells.data(), births.cells.data(),
                       f.cells.data(), d.cells.data()), h);
    };
    call(kinds_init, given);
    for (size_t n = 8; n < arg.size(); ++n) {
        if (std::stoi(arg[n]) < 0)
            call(kinds_run);
        else
            call(kinds_iterate, int64_t{std::stoi(arg[n])});
    }
    cells.write(folder), mask.write(folder), count.write(folder), births.write(folder), f.write(folder), d.write(folder);
    float total = 0;
    check(kinds_get_total(raw, &total), h);
    std::cout << std::setprecision(9) << total << "\n";
    return 0;
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
