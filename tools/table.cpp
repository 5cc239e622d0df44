#include "tools/table.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "protocol/check.hpp"

namespace bowline::tools {

namespace {

// `-` stands for a number that there is not.
bool is_number(const std::string& cell) {
    return cell == "-" || (!cell.empty() && cell.find_first_not_of("0123456789") == std::string::npos);
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
    BOWLINE_CHECK(cells.size() == rows_.front().size());
    for (std::string& cell : cells) {
        if (cell.empty()) {
            cell = "-";
        }
    }
    rows_.push_back(std::move(cells));
}

std::string Table::text() const {
    const std::size_t columns = rows_.front().size();
    std::vector<std::size_t> widths(columns);
    std::vector<bool> numbers(columns, true);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
            widths[column] = std::max(widths[column], rows_[row][column].size());
            numbers[column] = numbers[column] && (row == 0 || is_number(rows_[row][column]));
        }
    }
    std::string text;
    for (const std::vector<std::string>& row : rows_) {
        std::string line;
        for (std::size_t column = 0; column < columns; ++column) {
            line += numbers[column] ? fmt::format("{:>{}}  ", row[column], widths[column])
                                    : fmt::format("{:<{}}  ", row[column], widths[column]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

}  // namespace bowline::tools
