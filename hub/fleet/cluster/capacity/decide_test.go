package capacity

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func amounts(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// report is what an agent reports at a time, and whether it should be shown as a jump.
type report struct {
	after  time.Duration
	of     corev1.ResourceList
	jumped bool
}

func TestAJumpIsShown(t *testing.T) {
	t.Parallel()
	const huge = "100000"
	tests := map[string][]report{
		"the first report is taken as usual":       {{0, amounts("cpu", huge), false}},
		"nodes come and go":                        {{0, amounts("cpu", "4"), false}, {time.Hour, amounts("cpu", "8"), false}, {time.Hour, amounts("cpu", "2"), false}},
		"more than twice as much":                  {{0, amounts("cpu", "4", "pods", "110"), false}, {time.Minute, amounts("cpu", "8001m", "pods", "110"), true}},
		"it is back":                               {{0, amounts("cpu", "4"), false}, {time.Minute, amounts("cpu", huge), true}, {time.Minute, amounts("cpu", "5"), false}},
		"a little more each time":                  {{0, amounts("cpu", "4"), false}, {time.Hour, amounts("cpu", "7"), false}, {time.Hour, amounts("cpu", "12"), true}},
		"a little more each day":                   {{0, amounts("cpu", "4"), false}, {day, amounts("cpu", "7"), false}, {day, amounts("cpu", "12"), false}},
		"after a day it is usual":                  {{0, amounts("cpu", "4"), false}, {time.Minute, amounts("cpu", huge), true}, {day - time.Minute, amounts("cpu", huge), true}, {time.Minute, amounts("cpu", huge), false}, {time.Minute, amounts("cpu", huge), false}},
		"but not one that came long after":         {{0, amounts("cpu", "4"), false}, {9 * day, amounts("cpu", huge), true}},
		"small at night":                           {{0, amounts("cpu", "10"), false}, {day, amounts("cpu", "1"), false}, {time.Hour, amounts("cpu", "10"), false}},
		"nodes come after the agent":               {{0, amounts("cpu", "0", "pods", "0"), false}, {time.Minute, amounts("cpu", "64"), false}, {time.Minute, amounts("cpu", huge), true}},
		"a resource that was not reported":         {{0, amounts("cpu", "4"), false}, {time.Minute, amounts("cpu", "4", "memory", "64Gi"), false}, {time.Minute, amounts("cpu", "4", "memory", "64Ti"), true}},
		"one that vanishes and comes back changed": {{0, amounts("cpu", "4"), false}, {time.Minute, nil, false}, {time.Minute, amounts("cpu", huge), true}},
		"less than nothing":                        {{0, amounts("cpu", "4"), false}, {time.Minute, amounts("cpu", "-1e40"), false}, {time.Minute, amounts("cpu", huge), true}},
		"more than can be counted":                 {{0, amounts("memory", "9E"), false}, {time.Minute, amounts("memory", "1e60"), true}, {2 * day, amounts("memory", "1e60"), false}},
		"nothing":                                  {{0, nil, false}},
	}
	for name, reports := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			now, annotation := start, ""
			for _, r := range reports {
				now = now.Add(r.after)
				// The same report again causes no further write.
				for again := range 2 {
					d := Decide(Input{Now: now, Cluster: "edge-1", Usual: Read(annotation), Believed: r.of})
					g.Expect(d.Jumped).To(Equal(r.jumped), "%v", r)
					if again == 1 {
						g.Expect(d.Usual).To(BeNil())
					} else if d.Usual != nil {
						raw, err := json.Marshal(d.Usual)
						g.Expect(err).NotTo(HaveOccurred())
						annotation = string(raw)
					}
				}
			}
		})
	}
}

func TestMessageOfAJumpInCapacity(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	usual := Decide(Input{Now: start, Cluster: "edge-1", Believed: amounts("cpu", "4", "memory", "16Gi", "pods", "110")}).Usual
	lie := func(cpu string) Decision {
		return Decide(Input{Now: start.Add(time.Minute), Cluster: "edge-1", Usual: usual, Believed: amounts("cpu", cpu, "memory", "64Gi", "pods", "110")})
	}
	d := lie("640")
	g.Expect(d.Message).To(ContainSubstring("twice its usual amount of cpu (4), memory (16Gi)"))
	g.Expect(d.Message).To(ContainSubstring(`{"spec":{"capacityLimit":{"cpu":"4","memory":"16Gi"}}}`))
	c := d.Condition(nil, 3, start)
	g.Expect(c.Status).To(Equal(metav1.ConditionTrue))
	g.Expect(lie("641").Condition(c, 3, start)).To(BeNil(), "an agent cannot have it written again with each report")

	over := Decide(Input{Now: start.Add(time.Hour), Cluster: "edge-1", Usual: usual, Believed: usual.Allocatable})
	g.Expect(over.Condition(nil, 3, start)).To(BeNil(), "nothing is said of what never happened")
	g.Expect(over.Condition(c, 3, start).Status).To(Equal(metav1.ConditionFalse))
}
