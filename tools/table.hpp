#pragma once

#include <string>
#include <vector>

namespace bowline::tools {

/// Text in aligned columns: two spaces apart, none at the end of a line. Numbers align to the right, if the whole
/// column is of them.
class Table {
public:
    explicit Table(std::vector<std::string> titles) : rows_{std::move(titles)} {}

    /// As many cells as there are titles; an empty one is shown as `-`.
    void add(std::vector<std::string> cells);
    [[nodiscard]] bool empty() const { return rows_.size() == 1; }
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace bowline::tools
