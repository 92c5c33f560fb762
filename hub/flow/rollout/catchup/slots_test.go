package catchup

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/util/sets"
)

func TestSlotsGoToClustersInTheOrderOfTheirReturn(t *testing.T) {
	t.Parallel()
	at := func(minute int, cluster string) Waiting {
		return Waiting{Cluster: cluster, Since: time.Date(2026, 5, 1, 6, minute, 0, 0, time.UTC)}
	}
	for name, c := range map[string]struct {
		in   Input
		want []string
	}{
		"nobody if nobody waits":                            {Input{Max: 2}, nil},
		"those who returned first":                          {Input{Max: 2, Queue: []Waiting{at(3, "c"), at(1, "a"), at(2, "b")}}, []string{"a", "b"}},
		"by name if they returned together":                 {Input{Max: 1, Queue: []Waiting{at(1, "b"), at(1, "a")}}, []string{"a"}},
		"a cluster with two applications in one slot":       {Input{Max: 2, Queue: []Waiting{at(1, "a"), at(1, "a"), at(2, "b")}}, []string{"a", "b"}},
		"nobody else while all slots are taken":             {Input{Max: 1, Busy: sets.New("z"), Queue: []Waiting{at(1, "a")}}, []string{"z"}},
		"whoever has a slot with its other applications":    {Input{Max: 1, Busy: sets.New("z"), Queue: []Waiting{at(1, "a"), at(2, "z")}}, []string{"z"}},
		"nobody is put out if there are fewer slots by now": {Input{Max: 1, Busy: sets.New("y", "z")}, []string{"y", "z"}},
		"one at a time if the number makes no sense":        {Input{Max: -3, Queue: []Waiting{at(1, "a"), at(2, "b")}}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(sets.List(Slots(c.in))).To(ConsistOf(c.want))
		})
	}
}
