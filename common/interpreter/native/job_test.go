package native_test

import (
	"testing"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

func TestAggregateStatusOfAJob(t *testing.T) {
	t.Parallel()
	type items = []workv1alpha2.AggregatedStatusItem
	const (
		running  = `{"active":2,"startTime":"2026-01-01T00:00:00Z"}`
		waiting  = `{}`
		complete = `{"succeeded":2,"startTime":"2026-01-01T00:01:00Z","completionTime":"2026-01-01T00:05:00Z","conditions":[` +
			`{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True","lastTransitionTime":"2026-01-01T00:05:00Z"}]}`
		later = `{"succeeded":3,"failed":1,"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:09:00Z","conditions":[` +
			`{"type":"Complete","status":"True","lastTransitionTime":"2026-01-01T00:09:00Z"}]}`
		failed = `{"failed":4,"startTime":"2026-01-01T00:02:00Z","conditions":[{"type":"Failed","status":"True","lastTransitionTime":"2026-01-01T00:07:00Z"}]}`
	)
	const (
		target = `{"lastProbeTime":"2026-01-01T00:07:00Z","lastTransitionTime":"2026-01-01T00:07:00Z","message":"Job executed failed in member clusters b","reason":"JobFailed","status":"True","type":"FailureTarget"}`
		dead   = `{"lastProbeTime":"2026-01-01T00:07:00Z","lastTransitionTime":"2026-01-01T00:07:00Z","message":"Job executed failed in member clusters b","reason":"JobFailed","status":"True","type":"Failed"}`
	)
	job := func(status string) string {
		return `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"x"},"spec":{},"status":` + status + `}`
	}
	tests := map[string]struct {
		status string
		items  items
		want   string
	}{
		"pods are added up, the start is the earliest": {`{}`, items{item("a", running), item("b", complete)}, `{"active":2,"startTime":"2026-01-01T00:00:00Z","succeeded":2}`},
		"it starts when all have":                      {`{}`, items{item("a", running), item("b", waiting)}, `{"active":2}`},
		"the start stays as it is":                     {`{"startTime":"2025-01-01T00:00:00Z"}`, items{item("a", running)}, `{"active":2,"startTime":"2025-01-01T00:00:00Z"}`},
		"nobody has it":                                {`{}`, nil, `{}`},
		"it is complete when all are": {
			`{}`,
			items{item("a", complete), item("b", later)},
			`{"completionTime":"2026-01-01T00:09:00Z","conditions":[` +
				`{"lastProbeTime":"2026-01-01T00:09:00Z","lastTransitionTime":"2026-01-01T00:09:00Z","message":"All member clusters have met success criteria","reason":"CompletionsReached","status":"True","type":"SuccessCriteriaMet"},` +
				`{"lastProbeTime":"2026-01-01T00:09:00Z","lastTransitionTime":"2026-01-01T00:09:00Z","message":"Job completed","reason":"Completed","status":"True","type":"Complete"}],` +
				`"failed":1,"startTime":"2026-01-01T00:00:00Z","succeeded":5}`,
		},
		"it is not complete while one has not reported": {`{}`, items{item("a", complete), item("b", "")}, `{"succeeded":2}`},
		"it has failed when one has and none is active": {
			`{}`,
			items{item("a", complete), item("b", failed)},
			`{"conditions":[` + target + `,` + dead + `],"failed":4,"startTime":"2026-01-01T00:01:00Z","succeeded":2}`,
		},
		"it will fail when one has and others are active": {
			`{}`,
			items{item("a", running), item("b", failed)},
			`{"active":2,"conditions":[` + target + `],"failed":4,"startTime":"2026-01-01T00:00:00Z"}`,
		},
		"it has failed though one never started": {
			`{}`,
			items{item("a", waiting), item("b", failed)},
			`{"conditions":[` + target + `,` + dead + `],"failed":4,"startTime":"2026-01-01T00:02:00Z"}`,
		},
		"it still fails when the cluster where it failed is gone": {
			`{"conditions":[` + target + `],"failed":4,"startTime":"2026-01-01T00:00:00Z"}`,
			items{item("a", complete)},
			`{"conditions":[` + target + `,{"message":"Job executed failed in member clusters b","reason":"JobFailed","status":"True","type":"Failed"}],"failed":4,"startTime":"2026-01-01T00:00:00Z","succeeded":2}`,
		},
		"pods that ended are not forgotten with their cluster": {`{"succeeded":5,"failed":3,"active":1}`, items{item("a", complete), item("b", waiting)}, `{"active":0,"failed":3,"succeeded":5}`},
		"a Job that is complete is never touched again":        {`{"succeeded":1,"conditions":[{"type":"Complete","status":"True"}]}`, items{item("a", failed)}, `{"conditions":[{"status":"True","type":"Complete"}],"succeeded":1}`},
		"nor is one that has failed":                           {`{"failed":1,"conditions":[{"type":"Failed","status":"True"}]}`, items{item("a", complete)}, `{"conditions":[{"status":"True","type":"Failed"}],"failed":1}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(statusOf(g, aggregate(g, parsed(job(tt.status)), tt.items...))).To(Equal(tt.want))
		})
	}
}
