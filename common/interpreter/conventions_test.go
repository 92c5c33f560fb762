package interpreter_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
)

func TestConventionalHealth(t *testing.T) {
	t.Parallel()
	const yes, no = workv1alpha1.Healthy, workv1alpha1.Unhealthy
	tests := map[string]struct {
		rest string // of an object of generation 3
		want workv1alpha1.ResourceHealth
	}{
		"no status, as a ConfigMap":                   {``, yes},
		"an empty status":                             {`,"status":{}`, yes},
		"a status that is no object":                  {`,"status":"fine"`, yes},
		"a status that follows no convention":         {`,"status":{"phase":"Broken"}`, yes},
		"the newest generation was looked at":         {`,"status":{"observedGeneration":3}`, yes},
		"the newest generation was not looked at yet": {`,"status":{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True"}]}`, no},
		"a generation that is no number":              {`,"status":{"observedGeneration":"2"}`, yes},
		"ready":                                       {`,"status":{"observedGeneration":3,"conditions":[{"type":"Ready","status":"True"}]}`, yes},
		"not ready":                                   {`,"status":{"conditions":[{"type":"Synced","status":"True"},{"type":"Ready","status":"False"}]}`, no},
		"whether it is ready is not known":            {`,"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}`, no},
		"ready as nobody can say it":                  {`,"status":{"conditions":[{"type":"Ready","status":true}]}`, yes},
		"stalled":                                     {`,"status":{"conditions":[{"type":"Stalled","status":"True"}]}`, no},
		"not stalled":                                 {`,"status":{"conditions":[{"type":"Stalled","status":"False"},{"type":"Reconciling","status":"False"}]}`, yes},
		"at work though ready before":                 {`,"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Reconciling","status":"True"}]}`, no},
		"other conditions are not of the convention":  {`,"status":{"conditions":[{"type":"Degraded","status":"True"}]}`, yes},
		"conditions of another shape":                 {`,"status":{"conditions":["Ready",{"type":7},null]}`, yes},
		"conditions by name":                          {`,"status":{"conditions":{"Ready":"False"}}`, yes},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			live := &unstructured.Unstructured{}
			g.Expect(live.UnmarshalJSON([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x","generation":3}` + tt.rest + `}`))).To(Succeed())
			g.Expect(interpreter.ConventionalHealth(live)).To(Equal(tt.want))
		})
	}
}
