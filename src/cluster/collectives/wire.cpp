#include "measured.hpp"

#include "espalier/base/failure.hpp"
#include "espalier/base/print.hpp"

#include <cmath>

namespace espalier::cluster::collectives {
namespace {

base::Json to_json(Plan const& plan) {
    auto steps = base::Json::array();
    for (auto const& step : plan.steps)
        steps.push_back({{"collective", static_cast<int>(step.collective)}, {"groups", step.groups}});
    return {{"id", plan.id},
            {"task", plan.task},
            {"text", plan.text},
            {"steps", steps},
            {"groups", plan.groups},
            {"segments", plan.segments},
            {"request", static_cast<int>(plan.request)},
            {"predicted", plan.predicted_us}};
}

Plan plan_from(base::Json const& json) {
    Plan plan{.id = json["id"],
              .task = json["task"],
              .text = json["text"],
              .steps = {},
              .groups = json["groups"],
              .segments = json["segments"],
              .request = static_cast<Request>(json["request"].get<int>())};
    for (auto const& step : json["steps"])
        plan.steps.push_back({static_cast<reduction::Collective>(step["collective"].get<int>()), step["groups"]});
    for (auto const& value : json["predicted"])
        plan.predicted_us.push_back(value.is_null() ? std::nan("") : value.get<double>());
    return plan;
}

} // namespace

base::Json to_json(Job const& job) {
    auto plans = base::Json::array();
    for (auto const& plan : job.plans) plans.push_back(to_json(plan));
    return {{"plans", plans},
            {"sizes", job.options.sizes},
            {"element", static_cast<int>(job.options.element)},
            {"repeats", job.options.repeats},
            {"seed", job.options.seed},
            {"json", job.options.json}};
}

Job job_from(base::Json const& json) {
    Job job;
    for (auto const& plan : json["plans"]) job.plans.push_back(plan_from(plan));
    job.options = {.sizes = json["sizes"],
                   .element = static_cast<Element>(json["element"].get<int>()),
                   .repeats = json["repeats"],
                   .seed = json["seed"],
                   .json = json["json"]};
    return job;
}

Prepared prepare_together(World const& world, std::function<base::Json()> const& prepare) {
    base::Json message;
    if (world.rank() == 0) {
        try {
            message = {{"code", 0}, {"value", prepare()}};
        } catch (std::exception const& error) {
            auto const failure = base::describe(error);
            base::complain(failure.text);
            message = {{"code", static_cast<int>(failure.code)}};
        }
    }
    message = base::Json::parse(world.broadcast(message.dump()));
    return {message.value("value", base::Json()), message["code"]};
}

int run_together(World const& world, std::function<int()> const& work) {
    try {
        return work();
    } catch (std::exception const& error) {
        auto const failure = base::describe(error);
        base::complain("rank {}: {}", world.rank(), failure.text);
        world.abort(static_cast<int>(failure.code));
    }
}

} // namespace espalier::cluster::collectives
