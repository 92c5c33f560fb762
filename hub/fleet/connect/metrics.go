package connect

import (
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/hub/fleet/connect/lines"
)

// metrics are the metrics of lines and of the requests through them.
type metrics struct {
	opened  prometheus.Counter
	refused *prometheus.CounterVec
	bytes   *prometheus.CounterVec
}

// newMetrics registers the metrics.
func newMetrics(registry prometheus.Registerer, s *Server) (*metrics, error) {
	m := &metrics{
		opened:  prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_hub_lines_opened_total", Help: "Lines that agents have opened."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_hub_lines_refused_total", Help: "Lines and requests through lines that the hub refused, by reason."}, []string{"reason"}),
		bytes:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_hub_lines_bytes_total", Help: "Bytes sent through lines, to and from members."}, []string{"direction"}),
	}
	for _, direction := range []string{toMember, fromMember} {
		m.bytes.WithLabelValues(direction)
	}
	for _, reason := range reasons() {
		m.refused.WithLabelValues(string(reason))
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.opened, m.refused, m.bytes, newLosses(s.Lines),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fairlead_hub_lines", Help: "Lines that are open to this replica of the hub."}, func() float64 { return float64(len(s.Lines.All())) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fairlead_hub_lines_streams", Help: "Requests that are open on lines, including those that are answered at once."}, func() float64 { return float64(s.streams.Open() + s.requests.Open()) }),
	} {
		if err := registry.Register(c); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
			errs = append(errs, fmt.Errorf("registering the metrics of lines: %w", err))
		}
	}
	return m, errors.Join(errs...)
}

// lossCollector collects how often each cluster lost its line. It reads the registry of lines, which drops deleted
// clusters.
type lossCollector struct {
	lines *lines.Registry
	desc  *prometheus.Desc
}

func newLosses(of *lines.Registry) lossCollector {
	return lossCollector{lines: of, desc: prometheus.NewDesc("fairlead_hub_line_losses_total",
		"How often a cluster lost its line without its agent having closed it, since this replica of the hub started.", []string{"cluster"}, nil)}
}

// Describe implements prometheus.Collector.
func (l lossCollector) Describe(to chan<- *prometheus.Desc) { to <- l.desc }

// Collect implements prometheus.Collector.
func (l lossCollector) Collect(to chan<- prometheus.Metric) {
	for _, state := range l.lines.States() {
		to <- prometheus.MustNewConstMetric(l.desc, prometheus.CounterValue, float64(state.Losses), state.Cluster)
	}
}

// Directions of bytes.
const (
	toMember   = "to"
	fromMember = "from"
)

// counted counts the bytes that are read from a body.
type counted struct {
	io.ReadCloser
	read prometheus.Counter
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.read.Add(float64(n))
	return n, err
}

// countedStream counts the bytes of an upgraded connection, and ends one that is stalled.
type countedStream struct {
	counted
	stream  io.ReadWriteCloser
	written prometheus.Counter
	stall   stallDetector
}

// Read implements io.Reader.
func (c *countedStream) Read(p []byte) (int, error) {
	n, err := c.counted.Read(p)
	if n > 0 {
		c.stall.progressed()
	}
	return n, err
}

// Write implements io.Writer.
func (c *countedStream) Write(p []byte) (int, error) {
	c.stall.begin()
	n, err := c.stream.Write(p)
	c.stall.end()
	c.written.Add(float64(n))
	return n, err
}

// Close implements io.Closer.
func (c *countedStream) Close() error {
	c.stall.stop()
	return c.counted.Close()
}

// CloseWrite closes the direction to the member.
func (c *countedStream) CloseWrite() error {
	c.stall.operatorLeft()
	if half, ok := c.stream.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
