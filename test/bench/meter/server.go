package meter

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"fairlead.dev/test/requests"
)

// Server has the metrics of an API server since its start.
type Server struct {
	CPUSeconds    float64
	ResidentBytes int64
	// Requests are counted by verb and resource, such as "PATCH works/status".
	Requests map[string]float64
	// Conflicts are the requests answered with 409, Refused with 429.
	Conflicts, Refused map[string]float64
	// Bytes are body sizes by verb: bodies of write requests, responses to reads, and watch events. Responses to writes
	// are not counted by the API server.
	Bytes map[string]float64
	// Flows are requests by the FlowSchema that they match, which tells clients apart.
	Flows map[string]float64
}

// Names of the metrics.
const (
	cpuMetric      = "process_cpu_seconds_total"
	memoryMetric   = "process_resident_memory_bytes"
	requestsMetric = "apiserver_request_total"
	sentMetric     = "apiserver_request_body_size_bytes_sum"
	answeredMetric = "apiserver_response_sizes_sum"
	eventsMetric   = "apiserver_watch_events_sizes_sum"
	flowsMetric    = "apiserver_flowcontrol_dispatched_requests_total"
)

// ReadServer reads the metrics of an API server; name is for errors.
func ReadServer(ctx context.Context, name string, config *rest.Config) (Server, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return Server{}, err
	}
	data, err := d.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return Server{}, fmt.Errorf("reading the metrics of %q: %w", name, err)
	}
	out, err := parseServer(data)
	if err != nil {
		return out, fmt.Errorf("reading the metrics of %q: %w", name, err)
	}
	return out, nil
}

// parseServer parses the metrics.
func parseServer(data []byte) (Server, error) {
	out := Server{Requests: map[string]float64{}, Conflicts: map[string]float64{}, Refused: map[string]float64{}, Bytes: map[string]float64{}, Flows: map[string]float64{}}
	// Only these few of the thousands of series are parsed. Without TYPE lines all are plain numbers, including sums of
	// histograms.
	var few bytes.Buffer
	for line := range bytes.Lines(data) {
		end := bytes.IndexAny(line, "{ ")
		if end < 0 {
			continue
		}
		switch string(line[:end]) {
		case cpuMetric, memoryMetric, requestsMetric, sentMetric, answeredMetric, eventsMetric, flowsMetric:
			few.Write(line)
		}
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&few)
	if err != nil {
		return out, err
	}
	for name, family := range families {
		for _, series := range family.GetMetric() {
			out.add(name, labelsOf(series), series.GetUntyped().GetValue())
		}
	}
	return out, nil
}

func (s *Server) add(metric string, labels map[string]string, n float64) {
	switch metric {
	case cpuMetric:
		s.CPUSeconds = n
	case memoryMetric:
		s.ResidentBytes = int64(n)
	case flowsMetric:
		s.Flows[labels["flow_schema"]] += n
	case sentMetric:
		s.Bytes[verbOfBody(labels["verb"])] += n
	case eventsMetric:
		s.Bytes["WATCH"] += n
	case answeredMetric:
		// Watches are not in this metric; requests without a resource are for its own metrics and profiles.
		if verb := labels["verb"]; labels["resource"] != "" && (verb == "GET" || verb == "LIST") {
			s.Bytes[verb] += n
		}
	case requestsMetric:
		key := requestKey(labels)
		if key == "" {
			return
		}
		s.Requests[key] += n
		switch labels["code"] {
		case "409":
			s.Conflicts[key] += n
		case "429":
			s.Refused[key] += n
		}
	}
}

// Since returns the difference to an earlier reading, which may be empty: the counters restart with the server.
func (s Server) Since(before Server) Server {
	out := s
	out.CPUSeconds -= before.CPUSeconds
	for to, from := range map[*map[string]float64]map[string]float64{
		&out.Requests: before.Requests, &out.Conflicts: before.Conflicts, &out.Refused: before.Refused, &out.Bytes: before.Bytes, &out.Flows: before.Flows,
	} {
		*to = requests.Grown(*to, from)
	}
	return out
}

// verbOfBody returns the verb of requests for a verb of the metric of bodies.
func verbOfBody(verb string) string {
	switch verb {
	case "create":
		return "POST"
	case "update":
		return "PUT"
	default:
		return strings.ToUpper(verb)
	}
}

// requestKey returns a key like "PATCH works/status", or "TRY POST works" for a dry run; empty for requests without a
// resource.
func requestKey(labels map[string]string) string {
	if labels["resource"] == "" {
		return ""
	}
	key := labels["verb"] + " " + labels["resource"]
	if labels["dry_run"] != "" {
		key = "TRY " + key
	}
	if labels["subresource"] != "" {
		key += "/" + labels["subresource"]
	}
	return key
}

func labelsOf(series *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, pair := range series.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	return labels
}
