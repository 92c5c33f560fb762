package monitoring

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// step is the interval between samples of the synthetic series.
const step = 15 * time.Second

// series is a synthetic series with a value at each step.
type series struct {
	// labels are name, value, name, value; the metric's name is the value of __name__.
	labels []string
	value  func(since time.Duration) float64
	// ends is when its samples stop; 0 if they do not.
	ends time.Duration
}

// sample is a value with its time.
type sample struct {
	chunks.Sample // for methods that plain values do not need

	t int64
	f float64
}

// T implements chunks.Sample.
func (s sample) T() int64 { return s.t }

// ST implements chunks.Sample.
func (s sample) ST() int64 { return 0 }

// F implements chunks.Sample.
func (s sample) F() float64 { return s.f }

// Type implements chunks.Sample.
func (s sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }

// Copy implements chunks.Sample.
func (s sample) Copy() chunks.Sample { return s }

// prometheus evaluates queries over synthetic series.
type prometheus struct {
	engine *promql.Engine
	all    []storage.Series
	start  time.Time
}

// start is the time of the first samples.
func start() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

// newPrometheus returns a prometheus over series that last for a time.
func newPrometheus(t *testing.T, lasts time.Duration, all []series) *prometheus {
	t.Helper()
	p := &prometheus{
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute}),
		start:  start(),
	}
	t.Cleanup(func() {
		if err := p.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, s := range all {
		var samples []chunks.Sample
		for since := time.Duration(0); since <= lasts && (s.ends == 0 || since < s.ends); since += step {
			samples = append(samples, sample{t: p.start.Add(since).UnixMilli(), f: s.value(since)})
		}
		p.all = append(p.all, storage.NewListSeries(labels.FromStrings(s.labels...), samples))
	}
	return p
}

// at evaluates a query.
func (p *prometheus) at(t *testing.T, expr string, since time.Duration) promql.Vector {
	t.Helper()
	query, err := p.engine.NewInstantQuery(t.Context(), p, nil, expr, p.start.Add(since))
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	vector, err := result.Vector()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(vector)
}

// Querier implements storage.Queryable.
func (p *prometheus) Querier(int64, int64) (storage.Querier, error) { return &querier{p}, nil }

type querier struct{ *prometheus }

// Select implements storage.Querier.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, s := range q.all {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
			found = append(found, s)
		}
	}
	return &set{found: found, at: -1}
}

// LabelValues implements storage.Querier.
func (q *querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier.
func (q *querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (q *querier) Close() error { return nil }

// set is a storage.SeriesSet.
type set struct {
	found []storage.Series
	at    int
}

// Next implements storage.SeriesSet.
func (s *set) Next() bool {
	s.at++
	return s.at < len(s.found)
}

// At implements storage.SeriesSet.
func (s *set) At() storage.Series { return s.found[s.at] }

// Err implements storage.SeriesSet.
func (s *set) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (s *set) Warnings() annotations.Annotations { return nil }
