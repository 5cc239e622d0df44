#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "sim/exhaustive.hpp"

namespace bowline::sim {

namespace {

constexpr ExhaustiveBudget kNone{.messages_a = 0,
                                 .messages_b = 0,
                                 .drops = 0,
                                 .duplicates = 0,
                                 .delays = 0,
                                 .closes = 0,
                                 .exclusions = 0,
                                 .forgets = 0,
                                 .breaks = 0,
                                 .rotations = 0};

constexpr ExhaustiveBudget with_forget() {
    ExhaustiveBudget budget;
    budget.forgets = 1;
    budget.closes = 0;
    budget.exclusions = 0;
    return budget;
}
constexpr ExhaustiveBudget both_ways() {
    ExhaustiveBudget budget;
    budget.messages_a = 2;
    budget.messages_b = 1;
    return budget;
}
constexpr ExhaustiveBudget small() {
    ExhaustiveBudget budget;
    budget.messages_a = 2;
    budget.drops = 1;
    return budget;
}

struct Named {
    std::string_view name;
    ExhaustiveBudget budget;
};
constexpr std::array<Named, 5> kBudgets = {
    {{"default", {}}, {"forget", with_forget()}, {"both-ways", both_ways()}, {"small", small()}, {"none", kNone}}};

struct Field {
    std::string_view name;
    unsigned ExhaustiveBudget::*value;
};
constexpr std::array<Field, 10> kFields = {{{"messages_a", &ExhaustiveBudget::messages_a},
                                            {"messages_b", &ExhaustiveBudget::messages_b},
                                            {"drops", &ExhaustiveBudget::drops},
                                            {"duplicates", &ExhaustiveBudget::duplicates},
                                            {"delays", &ExhaustiveBudget::delays},
                                            {"closes", &ExhaustiveBudget::closes},
                                            {"exclusions", &ExhaustiveBudget::exclusions},
                                            {"forgets", &ExhaustiveBudget::forgets},
                                            {"breaks", &ExhaustiveBudget::breaks},
                                            {"rotations", &ExhaustiveBudget::rotations}}};
constexpr unsigned kMost = 8;

bool set_field(std::string_view part, ExhaustiveBudget& budget) {
    const std::size_t equals = part.find('=');
    const auto field = std::find_if(kFields.begin(), kFields.end(),
                                    [&](const Field& it) { return it.name == part.substr(0, equals); });
    if (equals == std::string_view::npos || field == kFields.end()) {
        return false;
    }
    const std::string_view number = part.substr(equals + 1);
    unsigned value = 0;
    const auto [stopped, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc{} || stopped != number.data() + number.size() || value > kMost) {
        return false;
    }
    budget.*field->value = value;
    return true;
}

}  // namespace

bool parse_budget(std::string_view text, ExhaustiveBudget& budget, std::string& error) {
    budget = kNone;
    for (bool is_first = true; is_first || !text.empty(); is_first = false) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        const auto named =
            std::find_if(kBudgets.begin(), kBudgets.end(), [&](const Named& it) { return it.name == part; });
        if (is_first && named != kBudgets.end()) {
            budget = named->budget;
        } else if (!set_field(part, budget)) {
            std::string names;
            for (const Named& it : kBudgets) {
                names += fmt::format("{}, ", it.name);
            }
            std::string keys;
            for (const Field& it : kFields) {
                keys += fmt::format(" {}", it.name);
            }
            error =
                fmt::format("'{}' is no part of a budget: give {}or KEY=NUMBER,... with numbers up to {} and keys{}",
                            part, names, kMost, keys);
            return false;
        }
    }
    return true;
}

std::string format_budget(const ExhaustiveBudget& budget) {
    std::string text;
    for (const Field& field : kFields) {
        if (budget.*field.value != 0) {
            text += fmt::format("{}{}={}", text.empty() ? "" : ",", field.name, budget.*field.value);
        }
    }
    return text.empty() ? "none" : text;
}

}  // namespace bowline::sim
