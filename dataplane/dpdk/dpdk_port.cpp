#include "dataplane/dpdk/dpdk_port.hpp"

namespace bowline::dataplane::dpdk {

void DpdkPort::refuse(rte_mbuf* m) {
    ++(m->nb_segs != 1 ? counters_.rx_chained : counters_.rx_short);
    rte_pktmbuf_free(m);
}

}  // namespace bowline::dataplane::dpdk
