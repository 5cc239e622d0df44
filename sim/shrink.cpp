#include "sim/shrink.hpp"

#include <algorithm>
#include <cctype>
#include <variant>
#include <vector>

namespace bowline::sim {

namespace {

using Kind = Action::Kind;

const Action* action_of(const Statement& statement) { return std::get_if<Action>(&statement.what); }

/// What ends a disturbance of this kind; the kind itself when nothing does.
Kind end_of(Kind kind) {
    switch (kind) {
        case Kind::cut:
            return Kind::heal;
        case Kind::pause:
            return Kind::resume;
        case Kind::stall:
            return Kind::unstall;
        case Kind::crash:
        case Kind::stop:
            return Kind::restart;
        case Kind::exhaust:
            return Kind::restore;
        case Kind::hold:
            return Kind::release;
        default:
            return kind;
    }
}

bool ends_something(Kind kind) {
    return kind == Kind::heal || kind == Kind::resume || kind == Kind::unstall || kind == Kind::restart ||
           kind == Kind::restore || kind == Kind::release || kind == Kind::clear;
}

class Shrinker {
public:
    Shrinker(Scenario scenario, const std::function<bool(const Scenario&)>& fails, std::size_t tries_max)
        : best_(std::move(scenario)), fails_(fails), tries_left_(tries_max) {}

    Scenario run() {
        for (bool better = true; better && tries_left_ > 0;) {
            better = drop_actions();
            better = drop_from(&Scenario::settings) || better;
            better = drop_from(&Scenario::links) || better;
            better = drop_last_node() || better;
            better = send_less() || better;
        }
        return std::move(best_);
    }

private:
    bool attempt(Scenario candidate) {
        if (tries_left_ == 0 || candidate == best_) {
            return false;
        }
        --tries_left_;
        if (!fails_(candidate)) {
            return false;
        }
        best_ = std::move(candidate);
        return true;
    }

    /// Tries to do without runs of `part` in halves, quarters and so on; what may go is up to `removable`.
    template <typename Element, typename Removable>
    bool drop_chunks(std::vector<Element> Scenario::*part, Removable&& removable) {
        bool any = false;
        for (std::size_t chunk = std::max<std::size_t>((best_.*part).size() / 2, 1);; chunk /= 2) {
            for (std::size_t from = 0; from < (best_.*part).size() && tries_left_ > 0;) {
                Scenario candidate = best_;
                std::vector<Element>& elements = candidate.*part;
                const auto first = elements.begin() + static_cast<std::ptrdiff_t>(from);
                const auto last =
                    elements.begin() + static_cast<std::ptrdiff_t>(std::min(from + chunk, elements.size()));
                elements.erase(std::remove_if(first, last, removable), last);
                if (attempt(std::move(candidate))) {
                    any = true;
                } else {
                    from += chunk;
                }
            }
            if (chunk == 1) {
                return any;
            }
        }
    }
    template <typename Element>
    bool drop_from(std::vector<Element> Scenario::*part) {
        return drop_chunks(part, [](const Element&) { return true; });
    }

    [[nodiscard]] bool has(Kind kind) const {
        return std::ranges::any_of(best_.statements, [&](const Statement& statement) {
            const Action* action = action_of(statement);
            return action != nullptr && action->kind == kind;
        });
    }
    [[nodiscard]] bool mends_something(const Action& action) const {
        if (action.kind == Kind::view && action.node == kNoNode) {
            // The view of everybody: there is another view to be mended.
            return std::ranges::count_if(best_.statements, [](const Statement& statement) {
                       const Action* other = action_of(statement);
                       return other != nullptr && other->kind == Kind::view;
                   }) > 1;
        }
        if (action.kind == Kind::clear) {
            return has(Kind::drop) || has(Kind::dup) || has(Kind::corrupt) || has(Kind::delay) || has(Kind::hold);
        }
        for (const Kind kind :
             {Kind::cut, Kind::pause, Kind::stall, Kind::crash, Kind::stop, Kind::exhaust, Kind::hold}) {
            if (end_of(kind) == action.kind && has(kind)) {
                return true;
            }
        }
        return false;
    }

    bool drop_actions() {
        return drop_chunks(&Scenario::statements, [this](const Statement& statement) {
            const Action* const action = action_of(statement);
            if (action == nullptr) {
                return false;  // runs and expectations are what fails
            }
            const bool mends = ends_something(action->kind) || (action->kind == Kind::view && action->node == kNoNode);
            return !mends || !mends_something(*action);
        });
    }

    bool drop_last_node() {
        const auto last = static_cast<NodeId>(best_.nodes.size() - 1);
        if (last < 2) {
            return false;
        }
        Scenario candidate = best_;
        candidate.nodes.pop_back();
        std::erase_if(candidate.settings, [&](const Setting& setting) { return setting.node == last; });
        const auto names_last = [&](const LinkRef& link) { return link.from == last || link.to == last; };
        std::erase_if(candidate.links, [&](const LinkSetting& link) { return names_last(link.change.link); });
        std::erase_if(candidate.statements, [&](const Statement& statement) {
            if (const Action* action = action_of(statement)) {
                return action->node == last || action->peer == last || names_last(action->link) ||
                       names_last(action->change.link);
            }
            const auto* expectation = std::get_if<Expectation>(&statement.what);
            return expectation != nullptr &&
                   (expectation->node == last || expectation->peer == last || names_last(expectation->link));
        });
        for (Statement& statement : candidate.statements) {
            if (auto* action = std::get_if<Action>(&statement.what)) {
                std::erase(action->members, last);
            }
        }
        return attempt(std::move(candidate));
    }

    bool send_less() {
        bool any = false;
        for (std::size_t i = 0; i < best_.statements.size() && tries_left_ > 0; ++i) {
            const Action* const action = action_of(best_.statements[i]);
            if (action == nullptr || action->kind != Kind::send) {
                continue;
            }
            const auto with = [&](std::uint64_t count, std::uint32_t size) {
                Scenario candidate = best_;
                auto& changed = std::get<Action>(candidate.statements[i].what);
                changed.count = count;
                changed.size = size;
                return attempt(std::move(candidate));
            };
            const std::uint64_t count = action->count;
            const std::uint32_t size = action->size;
            any = (count > 1 && (with(1, size) || with(count / 2, size))) || any;
            any = (size != 32 && with(std::get<Action>(best_.statements[i].what).count, 32)) || any;
        }
        return any;
    }

    Scenario best_;
    const std::function<bool(const Scenario&)>& fails_;
    std::size_t tries_left_;
};

}  // namespace

Scenario shrink(Scenario scenario, const std::function<bool(const Scenario&)>& fails, std::size_t tries_max) {
    return Shrinker(std::move(scenario), fails, tries_max).run();
}

std::string failure_class(const std::string& failure) {
    // "at 17.3us, node 0 with 1: message 4 was ..." and the like: places and numbers change as a scenario shrinks.
    std::string words;
    const std::size_t colon = failure.find(": ");
    for (const char c :
         failure.starts_with("at ") && colon != std::string::npos ? failure.substr(colon + 2) : failure) {
        if (c == ';' || c == ':') {
            break;
        }
        if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.') {
            words += c;
        }
    }
    return words;
}

}  // namespace bowline::sim
