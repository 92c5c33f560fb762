package meter

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestRequestKey(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(requestKey(map[string]string{"verb": "PATCH", "resource": "works", "subresource": "status"})).To(Equal("PATCH works/status"))
	g.Expect(requestKey(map[string]string{"verb": "POST", "resource": "works", "dry_run": "All"})).To(Equal("TRY POST works"), "it writes nothing")
	g.Expect(requestKey(map[string]string{"verb": "GET"})).To(BeEmpty())
}

func TestAServerIsReadFromItsMetrics(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	read := func(text string) Server {
		s, err := parseServer([]byte(text))
		g.Expect(err).NotTo(HaveOccurred())
		return s
	}
	before := read(`# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 1.5
process_resident_memory_bytes 100
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",resource="works",subresource="status",verb="PATCH"} 3
`)
	after := read(`process_cpu_seconds_total 2
process_resident_memory_bytes 120
apiserver_request_total{code="200",component="apiserver",resource="works",subresource="status",verb="PATCH"} 5
apiserver_request_total{code="409",component="apiserver",resource="works",subresource="",verb="PATCH"} 2
apiserver_request_total{code="429",component="apiserver",resource="works",subresource="",verb="LIST"} 1
apiserver_request_total{code="200",component="",resource="",subresource="/metrics",verb="GET"} 9
apiserver_request_body_size_bytes_sum{group="work.karmada.io",resource="works",verb="patch"} 7
apiserver_request_body_size_bytes_sum{group="work.karmada.io",resource="works",verb="create"} 4
apiserver_request_body_size_bytes_bucket{group="work.karmada.io",resource="works",verb="create",le="50"} 1
apiserver_response_sizes_sum{resource="works",subresource="",verb="LIST"} 30
apiserver_response_sizes_sum{resource="works",subresource="",verb="WATCH"} 0
apiserver_response_sizes_sum{resource="",subresource="/metrics",verb="GET"} 1000
apiserver_watch_events_sizes_sum{group="",resource="configmaps",version="v1"} 20
apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt",priority_level="exempt"} 6
`)
	g.Expect(after.Since(before)).To(BeComparableTo(Server{
		CPUSeconds: 0.5, ResidentBytes: 120,
		Requests:  map[string]float64{"PATCH works/status": 2, "PATCH works": 2, "LIST works": 1},
		Conflicts: map[string]float64{"PATCH works": 2},
		Refused:   map[string]float64{"LIST works": 1},
		Bytes:     map[string]float64{"PATCH": 7, "POST": 4, "LIST": 30, "WATCH": 20},
		Flows:     map[string]float64{"exempt": 6},
	}))
}
