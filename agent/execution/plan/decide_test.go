package plan_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	cm, deployment := parse(t, settings), parse(t, web)
	overwrite := parse(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop","annotations":{"`+
		contract.ConflictResolutionAnnotation+`":"overwrite"}},"data":{"a":"1"}}`)
	abort := parse(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop","annotations":{"`+
		contract.ConflictResolutionAnnotation+`":"abort"}},"data":{"a":"1"}}`)
	record := func(m plan.Manifest) *plan.Record {
		r := plan.NewRecord(m.Digest, live(m), noon)
		return &r
	}
	stale := func(m plan.Manifest) *plan.Record {
		r := plan.NewRecord(plan.DigestOf([]byte("an older manifest")), live(m), noon)
		return &r
	}
	deleting := func(obj *unstructured.Unstructured) {
		now := metav1.NewTime(noon)
		obj.SetDeletionTimestamp(&now)
	}

	cases := map[string]struct {
		manifest  plan.Manifest
		live      plan.Live
		record    *plan.Record
		want      plan.Action
		wantDrift bool
	}{
		"of what is not known the member is asked":                   {cm, plan.Live{}, nil, plan.Read, false},
		"of what is not known any more the member is asked":          {cm, plan.Live{}, record(cm), plan.Read, false},
		"what is absent is created":                                  {cm, plan.Found(nil), nil, plan.Apply, false},
		"what vanished is created, and that is drift":                {cm, plan.Found(nil), record(cm), plan.Apply, true},
		"what vanished while the manifest changed is no drift":       {cm, plan.Found(nil), stale(cm), plan.Apply, false},
		"what we hold as it should be asks nothing":                  {cm, plan.Live{Presence: plan.Held}, record(cm), plan.Skip, false},
		"what we hold is read if the manifest changed":               {cm, plan.Live{Presence: plan.Held}, stale(cm), plan.Read, false},
		"what is as it should be asks nothing":                       {cm, plan.Found(live(cm)), record(cm), plan.Skip, false},
		"the same for a kind with generations":                       {deployment, plan.Found(live(deployment)), record(deployment), plan.Skip, false},
		"after a restart it is applied once":                         {cm, plan.Found(live(cm)), nil, plan.Apply, false},
		"a new manifest is applied":                                  {cm, plan.Found(live(cm)), stale(cm), plan.Apply, false},
		"another resource version alone is nothing":                  {cm, plan.Found(live(cm, at("200"))), record(cm), plan.Skip, false},
		"a change of status is nothing":                              {cm, plan.Found(live(cm, with("phase", "Bound", "status"))), record(cm), plan.Skip, false},
		"a status next to generations is nothing":                    {deployment, plan.Found(live(deployment, with("phase", "x", "status"))), record(deployment), plan.Skip, false},
		"a label of others is nothing":                               {cm, plan.Found(live(cm, with("theirs", "yes", "metadata", "labels"))), record(cm), plan.Skip, false},
		"an annotation of others is nothing":                         {deployment, plan.Found(live(deployment, with("deployment.kubernetes.io/revision", "1", "metadata", "annotations"))), record(deployment), plan.Skip, false},
		"changed data is drift":                                      {cm, plan.Found(live(cm, with("a", "2", "data"))), record(cm), plan.Apply, true},
		"added data may be drift":                                    {cm, plan.Found(live(cm, with("b", "2", "data"))), record(cm), plan.Apply, true},
		"another generation is drift":                                {deployment, plan.Found(live(deployment, func(o *unstructured.Unstructured) { o.SetGeneration(2) })), record(deployment), plan.Apply, true},
		"a label of ours that was changed is drift":                  {cm, plan.Found(live(cm, with("app", "theirs", "metadata", "labels"))), record(cm), plan.Apply, true},
		"a label of ours that was removed is drift":                  {cm, plan.Found(live(cm, without("metadata", "labels", "app"))), record(cm), plan.Apply, true},
		"an object of our name that is another one is applied":       {cm, plan.Found(live(cm, func(o *unstructured.Unstructured) { o.SetUID("uid-2") })), record(cm), plan.Apply, true},
		"without the managed label, it is still ours":                {cm, plan.Found(live(cm, without("metadata", "labels"))), record(cm), plan.Apply, true},
		"with the managed label alone, it is ours to take":           {cm, plan.Found(live(cm, without("metadata", "annotations"))), nil, plan.Apply, false},
		"an object of nobody is refused":                             {cm, plan.Found(live(cm, unmarked)), nil, plan.Refuse, false},
		"aborting is the default":                                    {abort, plan.Found(live(cm, unmarked)), nil, plan.Refuse, false},
		"an object of nobody is taken if that was asked for":         {overwrite, plan.Found(live(cm, unmarked)), nil, plan.Apply, false},
		"another Work's name on the object that we applied is drift": {cm, plan.Found(live(cm, ofAnotherWork())), record(cm), plan.Apply, true},
		"the same on an object that was made anew is refused":        {cm, plan.Found(live(cm, ofAnotherWork(), func(o *unstructured.Unstructured) { o.SetUID("uid-2") })), record(cm), plan.Refuse, false},
		"an object of another Work is refused":                       {cm, plan.Found(live(cm, ofAnotherWork())), nil, plan.Refuse, false},
		"an object of another Work is never taken":                   {overwrite, plan.Found(live(cm, ofAnotherWork())), nil, plan.Refuse, false},
		"not even without its label":                                 {overwrite, plan.Found(live(cm, ofAnotherWork(), without("metadata", "labels"))), nil, plan.Refuse, false},
		"a Work of the same name in another namespace is another":    {overwrite, plan.Found(live(cm, with(contract.WorkNamespaceAnnotation, "x", "metadata", "annotations"))), nil, plan.Refuse, false},
		"an object on its way out is waited for":                     {cm, plan.Found(live(cm, deleting)), record(cm), plan.Wait, false},
		"an object of another Work on its way out is refused too":    {cm, plan.Found(live(cm, deleting, ofAnotherWork())), nil, plan.Refuse, false},
		"an object of nobody on its way out is refused all the same": {cm, plan.Found(live(cm, deleting, unmarked)), nil, plan.Refuse, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := plan.Decide(self, tc.manifest, tc.live, tc.record)
			g.Expect(got.Action).To(Equal(tc.want))
			g.Expect(got.Drift).To(Equal(tc.wantDrift))
			g.Expect(got.Message != "").To(Equal(tc.want == plan.Wait || tc.want == plan.Refuse), "a sentence where one is needed, and only there")
		})
	}
}

// TestTheJournalPutsNoOlderTemplateBack covers a journal that could not be written for a while: an agent that starts
// on it without the hub must not apply the older template.
func TestTheJournalPutsNoOlderTemplateBack(t *testing.T) {
	t.Parallel()
	m := parse(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","annotations":{"`+
		contract.TemplateUIDAnnotation+`":"t","`+contract.TemplateGenerationAnnotation+`":"9"}},"spec":{"paused":true}}`)
	kept := m
	kept.Kept = true
	of := func(uid, generation string) *unstructured.Unstructured {
		return live(m, with(contract.TemplateUIDAnnotation, uid, "metadata", "annotations"), with(contract.TemplateGenerationAnnotation, generation, "metadata", "annotations"))
	}
	cases := map[string]struct {
		manifest plan.Manifest
		live     *unstructured.Unstructured
		want     plan.Action
	}{
		"a later generation":                          {kept, of("t", "10"), plan.Wait},
		"the same, and the hub says so":               {m, of("t", "10"), plan.Apply},
		"the same generation":                         {kept, of("t", "9"), plan.Apply},
		"an earlier one":                              {kept, of("t", "8"), plan.Apply},
		"of another template":                         {kept, of("other", "10"), plan.Apply},
		"of none":                                     {kept, live(m, without("metadata", "annotations", contract.TemplateUIDAnnotation)), plan.Apply},
		"of a generation that is no number":           {kept, of("t", "x"), plan.Apply},
		"of another Work, which is refused as always": {kept, live(m, with(contract.TemplateGenerationAnnotation, "10", "metadata", "annotations"), ofAnotherWork()), plan.Refuse},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := plan.Decide(self, tc.manifest, plan.Found(tc.live), nil)
			g.Expect(got.Action).To(Equal(tc.want))
			g.Expect(got.Older).To(Equal(tc.want == plan.Wait), "nobody is told that it is not applied")
		})
	}
}

// TestDecideNeverAsksTwice checks that once the object was read, a decision is made.
func TestDecideNeverAsksTwice(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := parse(t, settings)
	r := plan.NewRecord(m.Digest, live(m), noon)
	for _, obj := range []*unstructured.Unstructured{nil, live(m), live(m, unmarked), live(m, ofAnotherWork())} {
		for _, record := range []*plan.Record{nil, &r} {
			g.Expect(plan.Decide(self, m, plan.Found(obj), record).Action).NotTo(Equal(plan.Read))
		}
	}
}

func TestSee(t *testing.T) {
	t.Parallel()
	m := parse(t, settings)
	record := plan.NewRecord(m.Digest, live(m), noon)
	cases := map[string]struct {
		seen   *unstructured.Unstructured
		record *plan.Record
		now    time.Time
		want   plan.Presence
	}{
		"what the watch never saw may exist without a label":  {nil, nil, noon, plan.Unknown},
		"the watch may be behind our own write, or not begun": {nil, &record, noon.Add(time.Second), plan.Held},
		"but not for ever, as where nobody may list":          {nil, &record, noon.Add(time.Minute), plan.Unknown},
		"what the watch shows is there":                       {live(m), nil, noon, plan.Present},
		"the version of our write is there":                   {live(m, at("100")), &record, noon, plan.Present},
		"a newer version is there":                            {live(m, at("101")), &record, noon, plan.Present},
		"an older version is behind our write":                {live(m, at("99")), &record, noon, plan.Held},
		"versions are numbers, not texts":                     {live(m, at("1000")), &record, noon, plan.Present},
		"an older version of another object counts":           {live(m, at("99"), func(o *unstructured.Unstructured) { o.SetUID("uid-2") }), &record, noon, plan.Present},
		"a version that cannot be compared counts":            {live(m, at("abc")), &record, noon, plan.Present},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := plan.See(tc.seen, tc.record, tc.now)
			g.Expect(got.Presence).To(Equal(tc.want))
			g.Expect(got.Object != nil).To(Equal(tc.want == plan.Present))
		})
	}
}

// TestAnObjectOfAnotherClusterSaysHowItIsTakenOver covers an object with the marks of another cluster's Work. The
// message says how to take it over, since this member may have been registered under that name before.
func TestAnObjectOfAnotherClusterSaysHowItIsTakenOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := parse(t, settings)
	of := live(m, with(contract.WorkNamespaceAnnotation, "karmada-es-before", "metadata", "annotations"))
	g.Expect(plan.Decide(self, m, plan.Found(of), nil).Message).To(And(ContainSubstring("belongs to Work karmada-es-before/"),
		ContainSubstring("remove the annotations "+contract.WorkNamespaceAnnotation+" and "+contract.WorkNameAnnotation)))
	of = live(m, without("metadata", "annotations", contract.WorkNamespaceAnnotation), without("metadata", "annotations", contract.WorkNameAnnotation))
	g.Expect(plan.Decide(self, m, plan.Found(of), nil).Action).To(Equal(plan.Apply))
	g.Expect(plan.Decide(self, m, plan.Found(live(m, ofAnotherWork())), nil).Message).NotTo(ContainSubstring("remove the annotations"))
}
