package meter

import (
	"bytes"
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Server is what an API server says of itself, since it began.
type Server struct {
	CPUSeconds    float64
	ResidentBytes int64
	// Requests are counted by verb and resource, such as "PATCH works/status".
	Requests map[string]float64
	// Conflicts are those of them that were answered with 409, and Refused with 429.
	Conflicts, Refused float64
}

// ReadServer reads the metrics of an API server; its name is for errors.
func ReadServer(ctx context.Context, name string, config *rest.Config) (Server, error) {
	out := Server{Requests: map[string]float64{}}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return out, err
	}
	data, err := d.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return out, fmt.Errorf("reading the metrics of %q: %w", name, err)
	}
	// Of the thousands of series only these few are parsed.
	var few bytes.Buffer
	for line := range bytes.Lines(data) {
		for _, family := range []string{"apiserver_request_total", "process_cpu_seconds_total", "process_resident_memory_bytes"} {
			if bytes.HasPrefix(line, []byte(family)) || bytes.HasPrefix(line, []byte("# TYPE "+family+" ")) {
				few.Write(line)
			}
		}
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&few)
	if err != nil {
		return out, fmt.Errorf("reading the metrics of %q: %w", name, err)
	}
	out.CPUSeconds = single(families["process_cpu_seconds_total"])
	out.ResidentBytes = int64(single(families["process_resident_memory_bytes"]))
	for _, series := range families["apiserver_request_total"].GetMetric() {
		labels := labelsOf(series)
		key := requestKey(labels)
		if key == "" {
			continue
		}
		n := series.GetCounter().GetValue()
		out.Requests[key] += n
		switch labels["code"] {
		case "409":
			out.Conflicts += n
		case "429":
			out.Refused += n
		}
	}
	return out, nil
}

func single(family *dto.MetricFamily) float64 {
	for _, series := range family.GetMetric() {
		return series.GetCounter().GetValue() + series.GetGauge().GetValue()
	}
	return 0
}

// requestKey is like "PATCH works/status", or "TRY POST works" for one that only asks what would be written; empty for
// requests that are not about objects.
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
