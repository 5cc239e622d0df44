#include <memory>

#include "engine/c_abi.hpp"

using bowline::c_abi::check_owner;
using bowline::c_abi::check_running;
using bowline::c_abi::fail;
using bowline::c_abi::fail_null;
using bowline::c_abi::guarded;

extern "C" {

// — views —

bowline_status bowline_engine_view(const bowline_engine* engine, bowline_view** view) {
    if (view == nullptr) {
        return fail_null("view");
    }
    *view = nullptr;
    if (engine == nullptr) {
        return fail_null("engine");
    }
    return guarded([&] {
        if (const bowline_status status = check_owner(*engine); status != BOWLINE_OK) {
            return status;
        }
        *view = std::make_unique<bowline_view>(bowline_view{engine->engine.view()}).release();
        return BOWLINE_OK;
    });
}

void bowline_view_free(bowline_view* view) { delete view; }

uint64_t bowline_view_id(const bowline_view* view) { return view == nullptr ? 0 : view->view.id; }

const char* bowline_view_self(const bowline_view* view) { return view == nullptr ? nullptr : view->view.self.c_str(); }

size_t bowline_view_member_count(const bowline_view* view) { return view == nullptr ? 0 : view->view.members.size(); }

bowline_status bowline_view_member_at(const bowline_view* view, size_t index, bowline_view_member* member) {
    if (view == nullptr || member == nullptr) {
        return fail_null(view == nullptr ? "view" : "member");
    }
    if (index >= view->view.members.size()) {
        return fail(BOWLINE_INVALID_ARGUMENT, "index: beyond the view's last member");
    }
    const bowline::ViewMember& known = view->view.members[index];
    return bowline::c_abi::fill(*member, bowline_view_member{.size = 0,
                                                             .name = known.name.c_str(),
                                                             .address = known.address.c_str(),
                                                             .incarnation = known.incarnation,
                                                             .up = known.up ? 1U : 0U});
}

// — counters —

bowline_status bowline_engine_counters(const bowline_engine* engine, bowline_counters** counters) {
    if (counters == nullptr) {
        return fail_null("counters");
    }
    *counters = nullptr;
    if (engine == nullptr) {
        return fail_null("engine");
    }
    return guarded([&] {
        if (const bowline_status status = check_running(*engine); status != BOWLINE_OK) {
            return status;
        }
        *counters = std::make_unique<bowline_counters>(bowline_counters{engine->engine.counters()}).release();
        return BOWLINE_OK;
    });
}

void bowline_counters_free(bowline_counters* counters) { delete counters; }

size_t bowline_counters_count(const bowline_counters* counters) {
    return counters == nullptr ? 0 : counters->counters.size();
}

const char* bowline_counters_name(const bowline_counters* counters, size_t index) {
    return index < bowline_counters_count(counters) ? counters->counters[index].name.c_str() : nullptr;
}

uint64_t bowline_counters_value(const bowline_counters* counters, size_t index) {
    return index < bowline_counters_count(counters) ? counters->counters[index].value : 0;
}

}  // extern "C"
