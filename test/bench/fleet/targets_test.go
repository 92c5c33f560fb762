package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAPromiseIsJudgedAtTheLargestSizeThatItIsAbout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		agents, bindings int
		// want are the sizes at which the targets up to 1,000 and 10,000, and up to 5,000 and 50,000, are checked.
		wantMiddling, wantFull []size
	}{
		"a small run":                      {40, 200, []size{{40, 200}}, []size{{40, 200}}},
		"what make bench-fleet runs":       {1000, 10000, []size{{1000, 10000}}, []size{{1000, 10000}}},
		"the size that is promised":        {5000, 50000, nil, []size{{5000, 50000}}},
		"more agents than it is about":     {8000, 20000, nil, []size{{4000, 10000}}},
		"more than all promises are about": {40000, 400000, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			o := options{agents: tt.agents, bindings: tt.bindings, sizes: []float64{0.25, 0.5, 1}}
			var gotMiddling, gotFull []size
			for _, at := range o.all() {
				if o.judges(at, middling()) {
					gotMiddling = append(gotMiddling, at)
				}
				if o.judges(at, full()) {
					gotFull = append(gotFull, at)
				}
			}
			g.Expect(gotMiddling).To(Equal(tt.wantMiddling))
			g.Expect(gotFull).To(Equal(tt.wantFull))
		})
	}
}
