package dependencies

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
)

// permission is what of the references of a template may follow it.
type permission struct {
	// granted may follow; withheld are in other namespaces whose owners did not say so.
	granted, withheld []configv1alpha1.DependentObjectReference
	// stays is granted in other namespaces to a workload whose changes go out in waves: it follows as far as it did before they went so.
	stays []configv1alpha1.DependentObjectReference
	// syncing says that it is not known yet, and nothing else counts; again is when to look.
	syncing bool
	again   time.Duration
	// unserved says that the hub has no kind by which they could say so.
	unserved bool
}

// grantsWanted are the ReferenceGrants that decide about references, as references: what changes them wakes the binding.
func grantsWanted(b kube.Binding, refs []configv1alpha1.DependentObjectReference) []configv1alpha1.DependentObjectReference {
	apiVersion, kind := attach.GrantKind().ToAPIVersionAndKind()
	var out []configv1alpha1.DependentObjectReference
	seen := map[string]bool{}
	for _, ref := range refs {
		if attach.Crosses(b.BindingSpec().Resource, ref) && !seen[ref.Namespace] {
			seen[ref.Namespace] = true
			out = append(out, configv1alpha1.DependentObjectReference{
				APIVersion: apiVersion, Kind: kind, Namespace: ref.Namespace, LabelSelector: &metav1.LabelSelector{},
			})
		}
	}
	return out
}

// permit looks which references of a template may be followed. Who may write in one namespace must not have objects of another
// one sent to clusters, with what is in them: the owner of those says so in a ReferenceGrant.
func (r *Reconciler) permit(ctx context.Context, b kube.Binding, refs []configv1alpha1.DependentObjectReference) (permission, error) {
	var grants []*unstructured.Unstructured
	out := permission{}
	for _, wanted := range grantsWanted(b, refs) {
		found, err := r.kinds.find(ctx, attach.GrantKind(), wanted)
		switch {
		case kube.IsUnserved(err):
			out.unserved = true
			continue
		case err != nil:
			return permission{}, err
		case found == nil:
			return permission{syncing: true, again: r.kinds.LookAgain(attach.GrantKind())}, nil
		}
		for _, meta := range *found {
			grant := &unstructured.Unstructured{}
			grant.SetGroupVersionKind(attach.GrantKind())
			err := r.liveReader.Get(ctx, client.ObjectKeyFromObject(meta), grant)
			if client.IgnoreNotFound(err) != nil {
				return permission{}, fmt.Errorf("reading ReferenceGrant %s/%s: %w", meta.Namespace, meta.Name, err)
			}
			if !apierrors.IsNotFound(err) {
				grants = append(grants, grant)
			}
		}
	}
	for _, ref := range refs {
		// A wave's content is kept in a Secret of the workload's namespace, whose people may read it. A grant is to refer, not to read.
		switch {
		case !attach.Crosses(b.BindingSpec().Resource, ref):
			out.granted = append(out.granted, ref)
		case !attach.Granted(grants, b.BindingSpec().Resource, ref):
			out.withheld = append(out.withheld, ref)
		case bindings.IsStaged(b):
			out.stays = append(out.stays, ref)
		default:
			out.granted = append(out.granted, ref)
		}
	}
	return out, nil
}

// staying finds what is in other namespaces and stays with a workload whose changes go out in waves by now: what followed it before they did.
// Its owner lets it be referred to, and nobody may take it from under what runs.
func (r *Reconciler) staying(ctx context.Context, p permission, attached []kube.Binding) (finding, error) {
	out, err := r.find(ctx, p.stays)
	out.objects = slices.DeleteFunc(out.objects, func(o object) bool {
		return !slices.ContainsFunc(attached, func(b kube.Binding) bool {
			return kindOf(b).GroupKind() == o.kind.GroupKind() && client.ObjectKeyFromObject(b) == o.binding()
		})
	})
	return out, err
}

// tellWithheld says, once, what does not follow a workload because it is in another namespace, or stays with it for now. It says nothing of
// whether there is an object that does not follow.
func (r *Reconciler) tellWithheld(req request, b kube.Binding, p permission, staying []object) {
	var stay []configv1alpha1.DependentObjectReference
	for _, o := range staying {
		stay = append(stay, configv1alpha1.DependentObjectReference{
			APIVersion: o.kind.GroupVersion().String(), Kind: o.kind.Kind, Namespace: o.meta.Namespace, Name: o.meta.Name,
		})
	}
	withheld := without(slices.Concat(p.withheld, p.stays), stay)
	if len(withheld)+len(stay) == 0 {
		r.warned.Resolved(req, reasonNotGranted)
		return
	}
	var notes []string
	if len(withheld) > 0 {
		notes = append(notes, whyWithheld(b, p, namesOf(withheld)))
	}
	if len(stay) > 0 {
		notes = append(notes, fmt.Sprintf("%s is in another namespace than this object, whose changes go out in waves by now. It stays as long as a ReferenceGrant there lets it, "+
			"but it is in no wave: its own changes reach all clusters at once. Give it a policy of its own, in its namespace.", namesOf(stay)))
	}
	note := strings.Join(notes, " ")
	if r.warned.IsNew(req, reasonNotGranted, note) {
		r.events(kube.Event{
			Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeWarning, Reason: reasonNotGranted, Action: actionGetDependencies, Note: note,
		})
	}
}

// whyWithheld says why what is named does not follow a workload.
func whyWithheld(b kube.Binding, p permission, named string) string {
	resource := b.BindingSpec().Resource
	if bindings.IsStaged(b) {
		return fmt.Sprintf("%s is in another namespace and does not follow this object, whose changes go out in waves: what these have is kept in Secrets of namespace %s, "+
			"where it could be read. Give it a policy of its own, in its namespace.", named, resource.Namespace)
	}
	workload := schema.FromAPIVersionAndKind(resource.APIVersion, resource.Kind)
	note := fmt.Sprintf("%s is in another namespace and does not follow this object: a ReferenceGrant (%s) there has to let kind %s of group %q in namespace %s refer to it.",
		named, attach.GrantKind().GroupVersion(), workload.Kind, workload.Group, resource.Namespace)
	if p.unserved {
		note += " This hub does not know that kind: install its CustomResourceDefinition, of the Gateway API."
	}
	return note
}
