// Flows over given links under SimGrid's max-min fluid model (CM02), one line of output each.
//
// Input, by line:  link NAME BYTES_PER_S LATENCY_S
//                  flow SRC DST SIZE_BYTES START_S LINK...
// Output, by flow in the order of the input: the time in seconds at which its last byte arrived.
// Every flow has hosts of its own, so that two flows of one host may take different paths.

#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

struct Flow {
  double size_bytes = 0;
  double start_s = 0;
  sg4::Host* src = nullptr;
  sg4::Host* dst = nullptr;
  double end_s = -1;
};

static void run_flow(Flow* flow)
{
  sg4::this_actor::sleep_until(flow->start_s);
  sg4::Comm::sendto(flow->src, flow->dst, static_cast<uint64_t>(flow->size_bytes));
  flow->end_s = sg4::Engine::get_clock();
}

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  auto* zone = sg4::create_full_zone("fabric");
  std::map<std::string, sg4::Link*> links;
  std::vector<Flow> flows;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "link") {
      std::string name;
      double rate = 0;
      double latency = 0;
      words >> name >> rate >> latency;
      links[name] = zone->create_link(name, rate)->set_latency(latency)->seal();
    } else if (kind == "flow") {
      std::string src;
      std::string dst;
      std::string name;
      Flow flow;
      words >> src >> dst >> flow.size_bytes >> flow.start_s;
      std::vector<sg4::LinkInRoute> path;
      while (words >> name)
        path.emplace_back(links.at(name));
      const std::string number = std::to_string(flows.size());
      flow.src = zone->create_host("a" + number, 1e9);
      flow.dst = zone->create_host("b" + number, 1e9);
      zone->add_route(flow.src->get_netpoint(), flow.dst->get_netpoint(), nullptr, nullptr, path, false);
      flows.push_back(flow);
    }
  }
  zone->seal();
  for (auto& flow : flows)
    sg4::Actor::create("flow", flow.src, run_flow, &flow);
  engine.run();
  for (const auto& flow : flows)
    std::printf("%.12f\n", flow.end_s);
  return 0;
}
