package failover

import (
	"io/fs"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/manifests"
)

// doubling returns a JSONPath in which, as client-go evaluates it, each part doubles the number of results: a union of
// two recursive descents.
func doubling(parts int) string { return "{" + strings.Repeat("['.','.']", parts) + "}" }

// reportedStatus is a status of a cluster in which paths find something.
const reportedStatus = `{"job": "j7", "note": "two words", "records": 12345678, "done": true, "none": null, "a.b": "flat", "a": {"b": "nested", "list": ["x", {"id": "y"}]},
	"conditions": [{"type": "Ready", "status": "yes"}, {"type": "Up", "status": "no"}, {"type": "Twice"}, {"type": "Twice"}]}`

func found(t *testing.T, clusterName, path string) (string, error) {
	t.Helper()
	status := &workv1alpha2.ResourceBindingStatus{AggregatedStatus: []workv1alpha2.AggregatedStatusItem{
		{ClusterName: "edge-1", Status: &runtime.RawExtension{Raw: []byte(reportedStatus)}}, {ClusterName: "edge-2"},
	}}
	got, err := preserved(status, clusterName, []policyv1alpha1.StatePreservationRule{{AliasLabelName: "state", JSONPath: path}})
	return got["state"], err
}

func TestPathsOfPreservedState(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"{ .job }": "j7", "{.job}": "j7", "{$.job}": "j7", "{@.job}": "j7", "{['job']}": "j7", "{.records}": "12345678", "{.done}": "true", "{.none}": "null",
		"{.a.b}": "nested", "{ .a .b }": "nested", "{['a.b']}": "nested", "{['a']['b']}": "nested", `{.a\.b}`: "flat", `{['a\.b']}`: "flat",
		"{.a.list[0]}": "x", "{.a.list[-1].id}": "y", "{.a.list[1]['id']}": "y",
		`{.conditions[?(@.type=="Ready")].status}`: "yes", "{ .conditions[?( @.type == 'Up' )].status }": "no",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := found(t, "edge-1", path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(want))
		})
	}
}

func TestPathsThatCannotBePreservedAreRefused(t *testing.T) {
	t.Parallel()
	const noPath = "lead to one value by fields and indexes"
	for path, want := range map[string]string{
		"{ .missing }": "missing is not found", "{.job.id}": "id is not found", "{ .note }": "a value that a label cannot have", "{.a}": "an object or a list", "{.a.list}": "an object or a list",
		"{.a.list[2]}": "the list has 2 elements, but none at [2]", "{.a.list[-3]}": "none at [-3]", "{.a[0]}": "not a list",
		`{.conditions[?(@.type=="Twice")].status}`: `has 2 elements with type equal to "Twice", instead of one`, `{.a[?(@.type=="Ready")]}`: "not a list",
		"{ .job": noPath, ".job": noPath, "job": noPath, "": noPath, "{}": noPath, "{.}": noPath, "{job}": noPath, "{.job}{.job}": noPath, "x{.job}": noPath,
		"{..}": noPath, "{..job}": noPath, "{.*}": noPath, "{.a[*]}": noPath, "{['.']}": noPath, "{['.','.']}": noPath, "{['a','job']}": noPath, "{.a.list[0:1]}": noPath,
		"{range .a.list[*]}{.id}{end}": noPath, "{.conditions[?(@.type)]}": noPath, "{.conditions[?(@.type!='Up')]}": noPath,
		doubling(28): noPath, doubling(40): noPath, doubling(200_000): noPath,
		"{" + strings.Repeat(".a", 128) + "}": noPath,
	} {
		t.Run(shown(path), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := found(t, "edge-1", path)
			g.Expect(err).To(MatchError(ContainSubstring(want)))
			g.Expect(len(err.Error())).To(BeNumerically("<", 1024))
		})
	}
	_, err := found(t, "edge-2", "{ .job }")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("has not yet been collected")))
}

// Admission and the controller must use the same pattern.
func TestAdmissionHasTheSamePattern(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	policy, err := fs.ReadFile(manifests.FS(), "policies/propagation-policies.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(policy)).To(ContainSubstring("matches(r'" + pathPattern + "')"))
}
