/* A library with the functions of NCCL's search that weft asks, and what may go wrong in them.
   FAULT: 0 none, 1 a crash, 2 a hang, 3 a refusal, 4 other parameters, 5 a GPU is dropped. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct ncclXmlNode {
    char name[16];
};
struct ncclXml {
    int maxIndex, maxNodes;
    struct ncclXmlNode nodes[1];
};
struct ncclPeerInfo {
    int rank;
    uint64_t hostHash;
    int64_t busId;
};
struct ncclTopoGraph {
    int id, pattern, crossNic, collNet, minChannels, maxChannels, nChannels;
    float bwIntra, bwInter;
    int typeIntra, typeInter, sameChannels;
    int intra[8 * 256];
    int64_t inter[16];
};
struct ncclTopoNodeSet {
    int count;
};
struct ncclTopoSystem {
    int id;
    struct ncclTopoNodeSet nodes[6];
};
struct ncclComm {
    struct ncclPeerInfo *peerInfo;
    struct ncclTopoSystem *topo;
    int nRanks, nNodes, minCompCap, maxCompCap, nChannels, nvlsSupport;
    float latencies[5][6][3];
};

const char *words = "NCCL version 2.99.1+cuda12.9";
const char *topoPathTypeStr[] = {"LOC", "NVL", "PIX"};
struct ncclXml whole_xml;
struct ncclXmlNode whole_node;
static struct ncclTopoSystem the_system;

const char *variable(void) { return "NCCL_DEBUG"; }

int readXml(const char *, struct ncclXml *, int) __asm__("_Z22ncclTopoGetXmlFromFilePKcP7ncclXmli");
int readXml(const char *path, struct ncclXml *xml, int warn) {
    (void)xml, (void)warn;
    return access(path, R_OK);
}

int build(struct ncclXml *, struct ncclTopoSystem **, uint64_t) __asm__(
    "_Z24ncclTopoGetSystemFromXmlP7ncclXmlPP14ncclTopoSystemm");
int build(struct ncclXml *xml, struct ncclTopoSystem **system, uint64_t host) {
    (void)xml, (void)host;
    *system = &the_system;
    return 0;
}

int paths(struct ncclTopoSystem *, struct ncclComm *) __asm__(
    "_Z20ncclTopoComputePathsP14ncclTopoSystemP8ncclComm");
int paths(struct ncclTopoSystem *system, struct ncclComm *comm) {
    (void)system;
    return comm->peerInfo[comm->nRanks - 1].rank + 1 - comm->nRanks;
}

int trim(struct ncclTopoSystem *, struct ncclComm *) __asm__(
    "_Z18ncclTopoTrimSystemP14ncclTopoSystemP8ncclComm");
int trim(struct ncclTopoSystem *system, struct ncclComm *comm) {
    system->nodes[0].count = comm->nRanks / comm->nNodes - (FAULT == 5);
    return 0;
}

int begin(struct ncclTopoSystem *) __asm__("_Z18ncclTopoSearchInitP14ncclTopoSystem");
int begin(struct ncclTopoSystem *system) { return system != &the_system; }

#if FAULT == 4
int compute(struct ncclTopoSystem *, struct ncclTopoGraph *, int) __asm__(
    "_Z15ncclTopoComputeP14ncclTopoSystemP13ncclTopoGraphi");
int compute(struct ncclTopoSystem *system, struct ncclTopoGraph *graph, int more) {
    (void)more;
#else
int compute(struct ncclTopoSystem *, struct ncclTopoGraph *) __asm__(
    "_Z15ncclTopoComputeP14ncclTopoSystemP13ncclTopoGraph");
int compute(struct ncclTopoSystem *system, struct ncclTopoGraph *graph) {
#endif
#if FAULT == 1
    abort();
#elif FAULT == 2
    pause();
#elif FAULT == 3
    printf("\nhost:1:1 [0] graph/search.cc:9 NCCL WARN no ring of %d GPUs\n",
           system->nodes[0].count);
    fflush(stdout);
    return 3;
#endif
    int n = system->nodes[0].count;
    graph->nChannels = graph->maxChannels < 2 ? graph->maxChannels : 2;
    graph->bwIntra = 40;
    graph->bwInter = 24;
    graph->typeIntra = 1;
    graph->typeInter = 2;
    for (int channel = 0; channel < graph->nChannels; channel++) {
        for (int i = 0; i < n; i++) {
            graph->intra[channel * n + i] = (i + channel) % n;
        }
        graph->inter[2 * channel] = graph->inter[2 * channel + 1] = channel;
    }
    return 0;
}

int tune(struct ncclComm *, int, int, struct ncclTopoGraph **) __asm__(
    "_Z17ncclTopoTuneModelP8ncclCommiiPP13ncclTopoGraph");
int tune(struct ncclComm *comm, int least, int most, struct ncclTopoGraph **graphs) {
    comm->latencies[4][1][2] = (float)graphs[1]->nChannels;
    return least != most;
}

int estimate(struct ncclComm *, int, int, int, size_t, int, float *) __asm__(
    "_Z19ncclTopoGetAlgoTimeP8ncclCommiiimiPf");
int estimate(struct ncclComm *comm, int coll, int algorithm, int protocol, size_t n, int ops,
             float *us) {
    (void)ops;
    float latency = comm->latencies[coll][algorithm][protocol];
    *us = latency > 0 ? latency + (float)n / 1000 : -1;
    return 0;
}
