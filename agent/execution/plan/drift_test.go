package plan_test

import (
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// object reads an object as a member returns it.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	NewWithT(t).Expect(json.Unmarshal([]byte(text), &obj.Object)).To(Succeed())
	return obj
}

const (
	ourEntry = `{"manager":"fairlead-agent","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","time":"2026-01-01T12:00:00Z","fieldsV1":{
		"f:metadata":{"f:labels":{"f:app":{}}},
		"f:spec":{"f:replicas":{},"f:rules":{},"f:finalizers":{"v:\"a\"":{}},
			"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:image":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}`
	statusEntry = `{"manager":"controller","operation":"Update","subresource":"status","time":"2026-01-01T12:09:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:phase":{}}}}`
	rest        = `"rules":[{"a":1}],"finalizers":["a","theirs"],"containers":[{"name":"sidecar"},{"name":"c","image":"nginx","ports":[{"containerPort":80,"protocol":"TCP"}]}]`
)

// made is an object with these managers, labels and fields of its spec.
func made(t *testing.T, managers, labels, spec string) *unstructured.Unstructured {
	t.Helper()
	return object(t, `{"apiVersion":"v1","kind":"Any","metadata":{"name":"x","labels":{`+labels+`},"managedFields":[`+managers+`]},"spec":{`+spec+`}}`)
}

func update(manager, at, fields string) string {
	return `{"manager":"` + manager + `","operation":"Update","fieldsType":"FieldsV1","time":"` + at + `","fieldsV1":` + fields + `}`
}

func TestUndoneSaysWhatWasPutBackAndWhoHadChangedIt(t *testing.T) {
	t.Parallel()
	const app = `"app":"web"`
	cases := map[string]struct {
		managers, labels, spec string
		fields, by             []string
		at                     string
	}{
		"nothing":                                 {"", app, `"replicas":3,` + rest, nil, nil, ""},
		"what others set beside ours is theirs":   {update("hpa", "2026-01-01T12:05:00Z", `{"f:spec":{"f:paused":{}}}`), app, `"paused":true,"replicas":3,` + rest, nil, nil, ""},
		"what was taken over from others as well": {update("hpa", "2026-01-01T12:05:00Z", `{"f:spec":{"f:replicas":{}}}`), app, `"replicas":3,` + rest, nil, nil, ""},
		"a value": {
			update("kubectl-edit", "2026-01-01T12:05:00Z", `{"f:spec":{"f:replicas":{}}}`), app, `"replicas":9,` + rest,
			[]string{".spec.replicas"},
			[]string{"kubectl-edit"},
			"2026-01-01T12:05:00Z",
		},
		"several, by several": {
			update("b", "2026-01-01T12:05:00Z", `{"f:spec":{"f:replicas":{}}}`) + "," + update("a", "2026-01-01T12:06:00Z", `{"f:metadata":{"f:labels":{"f:app":{}}}}`) + "," +
				update("bystander", "2026-01-01T12:07:00Z", `{"f:spec":{"f:paused":{}}}`), `"app":"theirs"`, `"replicas":9,` + rest,
			[]string{".metadata.labels.app", ".spec.replicas"},
			[]string{"a", "b"},
			"2026-01-01T12:06:00Z",
		},
		"what was removed is laid to who came last": {
			update("early", "2026-01-01T11:00:00Z", `{"f:spec":{"f:paused":{}}}`) + "," + update("late", "2026-01-01T12:07:00Z", `{"f:spec":{"f:other":{}}}`) + "," + statusEntry,
			"", `"replicas":3,` + rest,
			[]string{".metadata.labels.app"},
			[]string{"late"},
			"2026-01-01T12:07:00Z",
		},
		"or to nobody, if nobody came since": {
			update("early", "2026-01-01T11:00:00Z", `{"f:spec":{"f:paused":{}}}`), "", `"replicas":3,` + rest, []string{".metadata.labels.app"}, nil, "",
		},
		"items of lists": {
			update("x", "2026-01-01T12:05:00Z", `{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:image":{}}},"f:rules":{}}}`), app,
			`"replicas":3,"rules":[{"a":2}],"finalizers":["theirs"],"containers":[{"name":"c","image":"other"},{"name":"sidecar"}]`,
			[]string{
				`.spec.containers[name="c"].image`, `.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].containerPort`,
				`.spec.finalizers[="a"]`, ".spec.rules",
			},
			[]string{"x"},
			"2026-01-01T12:05:00Z",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			entries := ourEntry
			if tc.managers != "" {
				entries += "," + tc.managers
			}
			got := plan.Undone(made(t, entries, tc.labels, tc.spec), made(t, ourEntry, app, `"replicas":3,`+rest))
			g.Expect(got.Fields).To(Equal(tc.fields))
			if len(tc.fields) == 0 {
				return
			}
			g.Expect(got.ChangedBy).To(Equal(tc.by))
			at, _ := time.Parse(time.RFC3339, tc.at)
			g.Expect(got.Time.Equal(at)).To(BeTrue(), got.Time.String())
		})
	}
}

func TestUndoneNamesAFewFieldsOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fields, spec := "", ""
	for i := range 30 {
		fields += `,"f:k` + strconv.Itoa(i) + `":{}`
		spec += `,"k` + strconv.Itoa(i) + `":1`
	}
	entry := `{"manager":"fairlead-agent","operation":"Apply","fieldsV1":{"f:spec":{` + fields[1:] + `}}}`
	got := plan.Undone(made(t, entry, "", ""), made(t, entry, "", spec[1:]))
	g.Expect(got.Fields).To(HaveLen(workv1alpha1.MaxDriftFields))
	g.Expect(got.Fields[workv1alpha1.MaxDriftFields-1]).To(Equal("and 21 more"))
}

func TestOwnedChangesWithWhatIsOursAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	obj := made(t, ourEntry, "", "")
	owned := plan.Owned(obj)
	g.Expect(owned).NotTo(Equal(plan.Digest{}))
	g.Expect(plan.Owned(made(t, update("hpa", "2026-01-01T12:05:00Z", `{"f:spec":{"f:x":{}}}`)+","+ourEntry, "", `"x":1`))).To(Equal(owned))
	g.Expect(plan.Owned(made(t, `{"manager":"fairlead-agent","operation":"Apply","time":"2026-01-01T12:00:00Z","fieldsV1":{}}`, "", ""))).NotTo(Equal(owned))
	g.Expect(plan.Owned(made(t, update("fairlead-agent", "2026-01-01T12:05:00Z", `{}`), "", ""))).To(Equal(plan.Digest{}), "an update is no apply")
	g.Expect(plan.Owned(made(t, "", "", ""))).To(Equal(plan.Digest{}), "of nothing there is nothing to say")
	for _, wrong := range []string{"owned:", "owned:zz", "owned:00ff"} {
		g.Expect(plan.Owned(made(t, `{"manager":"`+wrong+`"}`, "", ""))).To(Equal(plan.Digest{}))
	}
}

func TestSlimKeepsWhatTellsDrift(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	obj := made(t, ourEntry, "", "")
	obj.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "kept": "yes"})
	owned := plan.Owned(obj)
	for range 2 {
		plan.Slim(obj)
		g.Expect(plan.Owned(obj)).To(Equal(owned))
		g.Expect(obj.GetManagedFields()).To(HaveLen(1))
		g.Expect(obj.GetAnnotations()).To(Equal(map[string]string{"kept": "yes"}))
	}
	foreign := made(t, update("a", "2026-01-01T12:05:00Z", `{}`), "", "")
	plan.Slim(foreign)
	g.Expect(foreign.GetManagedFields()).To(BeEmpty())
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	plan.Slim(empty)
	g.Expect(empty.Object).To(BeEmpty())
}

// The member counts more as a change than what is ours: the generation of a kind that has
// no subresource for its status, say.
func TestForeignChangesAreNoDrift(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := parse(t, web)
	left := live(m)
	g.Expect(unstructured.SetNestedSlice(left.Object, []any{object(t, ourEntry).Object}, "metadata", "managedFields")).To(Succeed())
	record := plan.NewRecord(m.Digest, left, noon)
	busy := left.DeepCopy()
	busy.SetGeneration(7)
	busy.SetLabels(map[string]string{"theirs": "yes", "karmada.io/managed": "true"})
	g.Expect(plan.Decide(self, m, plan.Found(busy), &record).Action).To(Equal(plan.Skip))
	g.Expect(record.Describes(busy)).To(BeTrue())

	lost := busy.DeepCopy()
	theirs := object(t, update("hpa", "2026-01-01T12:05:00Z", `{}`)).Object
	g.Expect(unstructured.SetNestedSlice(lost.Object, []any{theirs}, "metadata", "managedFields")).To(Succeed())
	g.Expect(plan.Decide(self, m, plan.Found(lost), &record)).To(And(HaveField("Action", plan.Apply), HaveField("Drift", true)))
	g.Expect(record.Describes(lost)).To(BeFalse())

	leaving := busy.DeepCopy()
	leaving.SetDeletionTimestamp(new(metav1.NewTime(noon)))
	g.Expect(record.Describes(leaving)).To(BeFalse(), "it is not there to stay")
}
