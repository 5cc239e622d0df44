#pragma once

#include <optional>
#include <string>

#include "bowline/result.hpp"

namespace bowline::tools {

/// Two network namespaces NAME-a and NAME-b, joined by a pair of kernel interfaces, eth0 in each. Deleted with the
/// object. Needs root and the command `ip`.
class BenchNet {
public:
    /// `folder`: for the outputs of commands.
    static Result<BenchNet> make(const std::string& folder);
    BenchNet(BenchNet&& other) noexcept;
    BenchNet& operator=(BenchNet&&) = delete;
    ~BenchNet();

    [[nodiscard]] const std::string& name() const { return name_; }

private:
    BenchNet(std::string name, std::string folder) : name_(std::move(name)), folder_(std::move(folder)) {}
    Result<void> set_up();

    std::string name_;  ///< empty: nothing to delete
    std::string folder_;
};

}  // namespace bowline::tools
