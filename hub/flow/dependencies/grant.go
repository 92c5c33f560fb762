package dependencies

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// permit looks which references of a template may be followed. Who may write in one namespace must not have objects of another
// one sent to clusters, with what is in them: the owner of those says so in a ReferenceGrant. Attached is what follows it. The error is a syncing
// if the grants are not known yet.
func (r *Reconciler) permit(
	ctx context.Context, b kube.Binding, refs []configv1alpha1.DependentObjectReference, attached []kube.Binding,
) (plan.Permission, error) {
	var grants []*unstructured.Unstructured
	unserved := false
	for _, wanted := range plan.GrantsWanted(b, refs) {
		found, err := r.kinds.find(ctx, attach.GrantKind(), wanted)
		switch {
		case kube.IsUnserved(err):
			unserved = true
			continue
		case err != nil:
			return plan.Permission{}, err
		case found == nil:
			return plan.Permission{}, syncing{kind: attach.GrantKind(), again: r.kinds.LookAgain(attach.GrantKind())}
		}
		for _, meta := range *found {
			grant := &unstructured.Unstructured{}
			grant.SetGroupVersionKind(attach.GrantKind())
			err := r.liveReader.Get(ctx, client.ObjectKeyFromObject(meta), grant)
			if client.IgnoreNotFound(err) != nil {
				return plan.Permission{}, fmt.Errorf("reading ReferenceGrant %s/%s: %w", meta.Namespace, meta.Name, err)
			}
			if !apierrors.IsNotFound(err) {
				grants = append(grants, grant)
			}
		}
	}
	out := plan.Permit(b, refs, grants)
	var err error
	if out.Unserved = unserved; !unserved {
		out.Unserved, err = r.grantsEnd(ctx, out.Withheld, attached)
	}
	if out.Unserved || err != nil {
		return out, err // nothing is detached by that
	}
	ending, err := r.ending(ctx, out.Withheld, attached)
	return out.KeepIn(ending), err
}

// grantsEnd says whether the definition of ReferenceGrants is being deleted, or gone. With a definition the API server deletes all objects of its
// kind first, while it still serves that: no owner took back a grant. The definition is read live, and only before something would be detached.
func (r *Reconciler) grantsEnd(ctx context.Context, withheld []configv1alpha1.DependentObjectReference, attached []kube.Binding) (bool, error) {
	if !slices.ContainsFunc(withheld, func(ref configv1alpha1.DependentObjectReference) bool {
		return slices.ContainsFunc(attached, func(b kube.Binding) bool { return mayMean(ref, b) })
	}) {
		return false, nil
	}
	definition := kube.MetadataOf(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := r.liveReader.Get(ctx, client.ObjectKey{Name: attach.GrantDefinition()}, definition)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading the definition of ReferenceGrants: %w", err)
	}
	return definition.DeletionTimestamp != nil, nil
}

// ending returns the namespaces that are being deleted, of those of what is withheld and may be attached. They are read live, and only before something
// would be detached: a namespace that is deleted takes no grant back, and what is in it goes by itself, or stays, as it is to.
func (r *Reconciler) ending(ctx context.Context, withheld []configv1alpha1.DependentObjectReference, attached []kube.Binding) (sets.Set[string], error) {
	seen, out := sets.Set[string]{}, sets.Set[string]{}
	for _, ref := range withheld {
		if seen.Has(ref.Namespace) || !slices.ContainsFunc(attached, func(b kube.Binding) bool { return mayMean(ref, b) }) {
			continue
		}
		seen.Insert(ref.Namespace)
		ends, err := kube.NamespaceEnds(ctx, r.liveReader, ref.Namespace)
		if err != nil {
			return nil, fmt.Errorf("looking whether a grant was taken back: %w", err)
		}
		if ends {
			out.Insert(ref.Namespace)
		}
	}
	return out, nil
}

// tellWithheld says, once, what does not follow a workload because it is in another namespace, or stays with it for now. It says nothing of
// whether there is an object that does not follow.
func (r *Reconciler) tellWithheld(req request, b kube.Binding, p plan.Permission, staying []plan.Object) {
	var stay []configv1alpha1.DependentObjectReference
	for _, o := range staying {
		stay = append(stay, configv1alpha1.DependentObjectReference{
			APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind, Namespace: o.Meta.Namespace, Name: o.Meta.Name,
		})
	}
	withheld := plan.Without(slices.Concat(p.Withheld, p.Stays), stay)
	if len(withheld)+len(stay)+len(p.Ending) == 0 {
		r.warned.Resolved(req, reasonNotGranted)
		return
	}
	var notes []string
	if len(withheld) > 0 {
		notes = append(notes, whyWithheld(b, p, namesOf(withheld)))
	}
	if len(stay) > 0 {
		notes = append(notes, fmt.Sprintf("%s is in another namespace than this object, whose changes now go out in waves. It stays in its clusters as long as a ReferenceGrant there allows it, "+
			"but its own changes reach all clusters at once, without waves. Give it its own policy, in its namespace.", namesOf(stay)))
	}
	if len(p.Ending) > 0 {
		notes = append(notes, fmt.Sprintf("%s is in another namespace, which is being deleted, and no ReferenceGrant is left there. It stays in its clusters until it is deleted "+
			"on the hub itself, and is sent to no other cluster.", namesOf(p.Ending)))
	}
	note := strings.Join(notes, " ")
	if r.warned.IsNew(req, reasonNotGranted, note) {
		r.events(eventsink.Event{
			Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeWarning, Reason: reasonNotGranted, Action: actionGetDependencies, Note: note,
		})
	}
}

// whyWithheld says why what is named does not follow a workload.
func whyWithheld(b kube.Binding, p plan.Permission, named string) string {
	resource := b.BindingSpec().Resource
	if bindings.IsStaged(b) {
		return fmt.Sprintf("%s is in another namespace and is not sent with this object, whose changes go out in waves: the content of its revisions is kept in Secrets of namespace %s, "+
			"where others could read it. Give it its own policy, in its namespace.", named, resource.Namespace)
	}
	workload := schema.FromAPIVersionAndKind(resource.APIVersion, resource.Kind)
	note := fmt.Sprintf("%s is in another namespace and is not sent with this object: create a ReferenceGrant (%s) there that lets kind %s of group %q in namespace %s refer to it.",
		named, attach.GrantKind().GroupVersion(), workload.Kind, workload.Group, resource.Namespace)
	if p.Unserved {
		note += " This hub does not serve that kind, or its definition is being deleted: install the CustomResourceDefinition of the Gateway API."
	}
	return note
}
