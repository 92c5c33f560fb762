package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// setting returns an object of a group that a workload may need.
func setting(group, namespace, name string) Object {
	return Object{
		Kind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Setting"},
		Meta: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
	}
}

// attachedOf returns the binding of an object that is attached.
func attachedOf(o Object) *workv1alpha2.ResourceBinding {
	out := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: o.Meta.Namespace, Name: o.Binding().Name}}
	out.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind, Namespace: o.Meta.Namespace, Name: o.Meta.Name}
	return out
}

func web() *workv1alpha2.ResourceBinding {
	return &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}}
}

func staged(b *workv1alpha2.ResourceBinding) *workv1alpha2.ResourceBinding {
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "careful")
	return b
}

func refTo(o Object) configv1alpha1.DependentObjectReference {
	return configv1alpha1.DependentObjectReference{APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind, Namespace: o.Meta.Namespace, Name: o.Meta.Name}
}

func TestDecideDetachesOnlyUnneeded(t *testing.T) {
	t.Parallel()
	one, two := setting("one.example.com", "shop", "web"), setting("two.example.com", "shop", "web")
	beta := setting("one.example.com", "shop", "web")
	beta.Kind.Version = "v1beta1"
	elsewhere := setting("one.example.com", "infra", "web")
	detached := []types.NamespacedName{{Namespace: "shop", Name: "web-setting"}}
	tests := map[string]struct {
		found     Finding
		attached  Object
		permitted Permission
		want      []types.NamespacedName
	}{
		"the object is found":                                                {found: Finding{Objects: []Object{one}}},
		"an object of another group is found as well":                        {found: Finding{Objects: []Object{one, two}}},
		"only an object of another group is found":                           {found: Finding{Objects: []Object{two}}, want: detached},
		"the object is found in another version than that of its policy":     {found: Finding{Objects: []Object{beta}}},
		"another version of its kind is not served":                          {found: Finding{Unserved: []schema.GroupVersionKind{beta.Kind}}},
		"nothing is found":                                                   {want: detached},
		"its kind is not served":                                             {found: Finding{Unserved: []schema.GroupVersionKind{one.Kind}}},
		"a kind of another group is not served":                              {found: Finding{Unserved: []schema.GroupVersionKind{two.Kind}}, want: detached},
		"an object in another namespace, without a grant":                    {attached: elsewhere, want: []types.NamespacedName{elsewhere.Binding()}},
		"an object in another namespace, and ReferenceGrants are not served": {attached: elsewhere, permitted: Permission{Unserved: true}},
		"ReferenceGrants are not served, and the object needs none":          {permitted: Permission{Unserved: true}, want: detached},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.attached.Meta == nil {
				tt.attached = one
			}
			got := Decide(Input{Binding: web(), Attached: []workv1alpha2.Binding{attachedOf(tt.attached)}, Found: tt.found, Permitted: tt.permitted})
			NewWithT(t).Expect(got.Detach).To(Equal(tt.want))
		})
	}
}

func TestDecideAttachesUnlessBeingDeleted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	here, going := setting("one.example.com", "shop", "here"), setting("one.example.com", "shop", "going")
	going.Meta.DeletionTimestamp = &metav1.Time{}
	got := Decide(Input{Binding: web(), Attached: []workv1alpha2.Binding{attachedOf(going)}, Found: Finding{Objects: []Object{going, here}}})
	g.Expect(got.Attach).To(Equal([]Object{here}))
	g.Expect(got.Detach).To(BeEmpty(), "an object that is being deleted stays attached")
}

// TestDecideRereadsIfRecordDiffers: otherwise users who may write bindings could send any object to clusters.
func TestDecideRereadsIfRecordDiffers(t *testing.T) {
	t.Parallel()
	a, b := setting("one.example.com", "shop", "a"), setting("one.example.com", "shop", "b")
	going := setting("one.example.com", "shop", "going")
	going.Meta.DeletionTimestamp = &metav1.Time{}
	tests := map[string]struct {
		attached []workv1alpha2.Binding
		found    []Object
		want     bool
	}{
		"the record names what is attached":             {attached: []workv1alpha2.Binding{attachedOf(a)}, found: []Object{a}},
		"the record names more":                         {attached: []workv1alpha2.Binding{attachedOf(a)}, found: []Object{a, b}, want: true},
		"the record names less":                         {attached: []workv1alpha2.Binding{attachedOf(a)}, want: true},
		"the record names more, which is being deleted": {attached: []workv1alpha2.Binding{attachedOf(a)}, found: []Object{a, going}},
		"the record names an object of another group":   {attached: []workv1alpha2.Binding{attachedOf(a)}, found: []Object{setting("two.example.com", "shop", "a")}, want: true},
		"the record is empty and nothing is attached":   {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := Input{Binding: web(), Attached: tt.attached, Found: Finding{Objects: tt.found}, Recalled: true}
			if got := Decide(in); tt.want {
				g.Expect(got).To(Equal(Plan{Reread: true}), "only a reread is planned")
			} else {
				g.Expect(got.Reread).To(BeFalse())
			}
			in.Recalled = false
			g.Expect(Decide(in).Reread).To(BeFalse(), "no reread after the template was read")
		})
	}
}

func TestDecideNote(t *testing.T) {
	t.Parallel()
	named, old, orphan := refTo(setting("one.example.com", "shop", "named")), refTo(setting("one.example.com", "shop", "old")), refTo(setting("one.example.com", "shop", "orphan"))
	refs := func(all ...configv1alpha1.DependentObjectReference) []configv1alpha1.DependentObjectReference {
		return all
	}
	tests := map[string]struct {
		binding   *workv1alpha2.ResourceBinding
		marked    bool
		needs     Needs
		permitted Permission
		want      Plan
	}{
		"recorded before attaching": {
			binding: web(), needs: Needs{By: Answerers{There: []string{"a"}}}, permitted: Permission{Granted: refs(named)},
			want: Plan{Note: Note{Refs: refs(named), By: "a"}, Complete: true},
		},
		"without references held by a suspended cluster": {
			binding: web(), needs: Needs{Held: refs(old)}, permitted: Permission{Granted: refs(named, old)},
			want: Plan{Note: Note{Refs: refs(named)}, Complete: true},
		},
		"with the rules that are gone, of orphans": {
			binding: web(), needs: Needs{By: Answerers{Gone: []string{"a"}}, Orphans: refs(orphan)}, permitted: Permission{Granted: refs(named, orphan)},
			want: Plan{Note: Note{Refs: refs(named, orphan), By: "a"}},
		},
		"without withheld references": {
			binding: web(), permitted: Permission{Granted: refs(named), Withheld: refs(old)},
			want: Plan{Note: Note{Refs: refs(named)}},
		},
		"recorded before attaching although a kind is not served": {
			binding: web(), permitted: Permission{Granted: refs(named), Unserved: true},
			want: Plan{Note: Note{Refs: refs(named)}, Unserved: true, Complete: true},
		},
		"recorded after attaching for a staged workload, with a finalizer before": {
			binding: staged(web()), permitted: Permission{Granted: refs(named)},
			want: Plan{Keep: true, Note: Note{Refs: refs(named)}, NoteLast: true, Complete: true},
		},
		"recorded after attaching for a staged workload with a finalizer": {
			binding: staged(web()), marked: true, permitted: Permission{Granted: refs(named)},
			want: Plan{Note: Note{Refs: refs(named)}, NoteLast: true, Complete: true},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Decide(Input{Binding: tt.binding, Marked: tt.marked, Needs: tt.needs, Permitted: tt.permitted})).To(Equal(tt.want))
		})
	}
}

// TestDecideKeepsOtherNamespacesOfStagedWorkload: objects of other namespaces are not newly attached to staged workloads.
func TestDecideKeepsOtherNamespacesOfStagedWorkload(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before, later := setting("one.example.com", "infra", "before"), setting("one.example.com", "infra", "later")
	unserved := schema.GroupVersionKind{Group: "three.example.com", Version: "v1", Kind: "Setting"}
	got := Decide(Input{
		Binding: staged(web()), Marked: true, Attached: []workv1alpha2.Binding{attachedOf(before)},
		Permitted: Permission{Stays: []configv1alpha1.DependentObjectReference{refTo(before), refTo(later)}},
		Stays:     Finding{Objects: []Object{before, later}, Unserved: []schema.GroupVersionKind{unserved}},
	})
	g.Expect(got.Attach).To(Equal([]Object{before}))
	g.Expect(got.Staying).To(Equal([]Object{before}))
	g.Expect(got.Detach).To(BeEmpty())
	g.Expect(got.Unserved).To(BeTrue())
	g.Expect(got.Complete).To(BeFalse())
}

// TestDecideKeepsObjectsOfEndingNamespace: no object of such a namespace is newly attached, and none is detached before it is
// gone.
func TestDecideKeepsObjectsOfEndingNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before, later, gone := setting("one.example.com", "infra", "before"), setting("one.example.com", "infra", "later"), setting("one.example.com", "infra", "gone")
	got := Decide(Input{
		Binding: web(), Attached: []workv1alpha2.Binding{attachedOf(before), attachedOf(gone)},
		Permitted: Permission{Ending: []configv1alpha1.DependentObjectReference{refTo(before), refTo(later), refTo(gone)}},
		Ending:    Finding{Objects: []Object{before, later}},
	})
	g.Expect(got.Attach).To(Equal([]Object{before}))
	g.Expect(got.Detach).To(Equal([]types.NamespacedName{gone.Binding()}))
	g.Expect(got.Staying).To(BeEmpty())
	g.Expect(got.Complete).To(BeFalse())
	g.Expect(got.Note.Refs).To(BeEmpty())
}
