package meter

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Share is a part of the CPU time of an API server.
type Share struct {
	Of   string
	Part float64
}

// category is an activity of an API server, identified by its functions.
type category struct {
	name      string
	functions []string
}

// categories returns all categories. A sample belongs to the first category with a function on its stack, so their
// order decides: decoding for managed fields counts as managed fields.
func categories() []category {
	return []category{
		{"collecting garbage", []string{
			"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcDrain", "runtime.gcStart", "runtime.gcMarkTermination", "runtime.bgsweep",
			"runtime.bgscavenge", "runtime.deductSweepCredit", "runtime.(*mspan).sweep", "runtime.wbBufFlush", "gcWriteBarrier",
		}},
		{"metrics and profiles, which the bench reads", []string{"prometheus/promhttp.", "prometheus.(*Registry).Gather", "prometheus/procfs.", "net/http/pprof.", "runtime/pprof."}},
		{"admission", []string{"k8s.io/apiserver/pkg/admission/plugin", "k8s.io/apiserver/pkg/admission.chainAdmissionHandler", "controlplane/agentlimit."}},
		{"managed fields", []string{"k8s.io/apimachinery/pkg/util/managedfields", "sigs.k8s.io/structured-merge-diff"}},
		{"events of watches: encoding and sending", []string{
			"endpoints/handlers.(*watchEncoder)", "endpoints/handlers.(*WatchServer)", "storage/cacher.(*cachingObject)", "storage/cacher.(*cacheWatcher)",
		}},
		{"events of watches: reading and distributing", []string{"storage/etcd3.(*watchChan)", "storage/etcd3.(*watcher)", "storage/cacher.(*Cacher).dispatch", "storage/cacher.(*watchCache)"}},
		{"applying patches", []string{"endpoints/handlers.(*patcher).applyPatch", "endpoints/handlers.(*jsonPatcher)", "endpoints/handlers.(*smpPatcher)", "endpoints/handlers.(*applyPatcher)"}},
		{"validation", []string{
			"apiextensions-apiserver/pkg/apiserver/validation", "apiextensions-apiserver/pkg/apiserver/schema", "(*unstructuredSchemaCoercer)",
			"kube-openapi/pkg/validation", "apiextensions-apiserver/pkg/registry/customresource.(*customResourceValidator)",
			"customResourceStrategy.Validate", "apiserver/pkg/registry/rest.BeforeCreate", "apiserver/pkg/registry/rest.BeforeUpdate",
		}},
		{"decoding, beside patches and watches", []string{".(*codec).Decode", ".(*Serializer).Decode", ".(*Serializer).unmarshal", "storage/etcd3.(*defaultDecoder)", "sigs.k8s.io/json."}},
		{"encoding, beside watches", []string{".(*codec).Encode", ".(*codec).encode", ".(*codec).doEncode", ".(*Serializer).Encode", ".(*Serializer).doEncode", "handlers/responsewriters."}},
		{"speaking to etcd", []string{"go.etcd.io/etcd/client", "google.golang.org/grpc"}},
		{"authentication, authorization, audit", []string{
			"apiserver/pkg/authentication", "controlplane/authenticator.", "apiserver/pkg/authorization", "pkg/auth/authorizer", "apiserver/pkg/audit.", "pkg/audit/log.",
		}},
		{"copying and storing objects", []string{"k8s.io/apiserver/pkg/registry/", "k8s.io/apiserver/pkg/storage", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"}},
		{"HTTP, TLS and what surrounds a request", []string{"golang.org/x/net/http2", "net/http.", "net/http/internal/http2.", "crypto/tls.", "internal/poll."}},
		{"finding goroutines to run", []string{"runtime.schedule", "runtime.findRunnable", "runtime.mcall", "runtime.sysmon", "runtime.mstart"}},
	}
}

// otherwise is the share without a category.
const otherwise = "all else"

// Shares returns the share of each category, in their order, in a CPU profile of an API server.
func Shares(p *profile.Profile) []Share {
	all := categories()
	index := len(p.SampleType) - 1 // the time; the number of samples precedes it
	memo := map[*profile.Function]int{}
	sums, total := make([]int64, len(all)+1), int64(0)
	for _, sample := range p.Sample {
		found := len(all)
		for _, location := range sample.Location {
			for _, line := range location.Line {
				found = min(found, categoryOf(line.Function, all, memo))
			}
		}
		sums[found] += sample.Value[index]
		total += sample.Value[index]
	}
	out := make([]Share, 0, len(sums))
	for i, sum := range sums {
		share := Share{Of: otherwise, Part: float64(sum) / float64(max(total, 1))}
		if i < len(all) {
			share.Of = all[i].name
		}
		out = append(out, share)
	}
	return out
}

// categoryOf returns the index of the first category of a function; len(all) if there is none.
func categoryOf(f *profile.Function, all []category, memo map[*profile.Function]int) int {
	if f == nil {
		return len(all)
	}
	if known, ok := memo[f]; ok {
		return known
	}
	found := slices.IndexFunc(all, func(c category) bool {
		return slices.ContainsFunc(c.functions, func(part string) bool { return strings.Contains(f.Name, part) })
	})
	if found < 0 {
		found = len(all)
	}
	memo[f] = found
	return found
}
