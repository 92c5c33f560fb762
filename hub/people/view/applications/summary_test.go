package applications

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{
		`{"replicas": 3, "readyReplicas": 1, "phase": "Running"}`: "1 of 3 ready",
		`{"replicas": 0}`: "0 of 0 ready",
		`{"desiredNumberScheduled": 2, "numberReady": 2}`:                                                                     "2 of 2 ready",
		`{"succeeded": 1, "failed": 2}`:                                                                                       "1 succeeded, 2 failed",
		`{"conditions": [{"type": "Ready", "status": "False"}]}`:                                                              "not ready",
		`{"phase": "Pending", "conditions": [{"type": "Ready", "status": "True"}]}`:                                           "Pending",
		`{"phase": "Pending", "conditions": [{"type": "Ready", "status": "False", "reason": "Quota", "message": "no more"}]}`: "no more",
		`{"desiredReplicas": 0, "currentReplicas": 2}`:                                                                        "currentReplicas 2, desiredReplicas 0",
		`{"e": 1, "d": true, "c": "x", "b": 1.5, "a": [1]}`:                                                                   "b 1.5, c x, d true, e 1",
		`{"f": 1, "e": 1, "d": 1, "c": 1, "b": {"a": 1}, "a": 1}`:                                                             "a 1, c 1, d 1, e 1",
		`{"loadBalancer": {}}`:                                 "no address yet",
		`{"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}`: "",
		`{"replicas": "many"}`:                                 "",
		`7`:                                                    "",
		`{}`:                                                   "",
	} {
		NewWithT(t).Expect(Summary(&runtime.RawExtension{Raw: []byte(status)})).To(Equal(want), status)
	}
	NewWithT(t).Expect(Summary(nil)).To(BeEmpty())
}

func TestIll(t *testing.T) {
	t.Parallel()
	const without = "It is applied, but not healthy; its status in the cluster may say why."
	for name, tt := range map[string]struct {
		status string
		share  int32
		want   string
	}{
		"nothing is known":               {"", 3, without},
		"some are not ready":             {`{"replicas":3,"readyReplicas":1}`, 3, "It is applied, but not healthy: 1 of 3 ready."},
		"a quota lets only some be made": {`{"replicas":5,"readyReplicas":5}`, 8, "It is applied, but not healthy: 5 of 5 ready; its share is 8."},
		"a kind that counts no replicas": {`{"phase":"Pending"}`, 0, "It is applied, but not healthy: Pending."},
		"a sentence keeps one full stop": {`{"conditions":[{"type":"Ready","status":"False","message":"No."}]}`, 0, "It is applied, but not healthy: No."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var status *runtime.RawExtension
			if tt.status != "" {
				status = &runtime.RawExtension{Raw: []byte(tt.status)}
			}
			NewWithT(t).Expect(unhealthySentence(status, tt.share, nil)).To(Equal(tt.want))
		})
	}
}
