package disruption

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
)

func TestPatience(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seconds *int32
		want    time.Duration
	}{
		"a lease that says nothing":                   {},
		"an agent without a line":                     {seconds: new(int32(40))},
		"one with a line":                             {seconds: new(int32(640))},
		"one that asks for more":                      {seconds: new(int32(300)), want: 5 * time.Minute},
		"one that asks for more, and has a line":      {seconds: new(int32(900)), want: 5 * time.Minute},
		"one that asks for more than the hub waits":   {seconds: new(int32(86400)), want: 10 * time.Minute},
		"one that asks for less than the hub's usual": {seconds: new(int32(4))},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: tc.seconds}}
			NewWithT(t).Expect(Patience(lease)).To(Equal(tc.want))
		})
	}
}

func TestKnownFrom(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(KnownFrom(noon, time.Time{}, 40*time.Second, 0)).To(Equal(noon.Add(75 * time.Second)))
	g.Expect(KnownFrom(noon, time.Time{}, 40*time.Second, 5*time.Minute)).To(Equal(noon.Add(5*time.Minute + 15*time.Second)))
	g.Expect(KnownFrom(noon, noon.Add(2*time.Minute), 40*time.Second, 0)).To(Equal(noon.Add(2*time.Minute+15*time.Second)), "agents still come back")
}
