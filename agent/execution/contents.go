package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
)

const (
	// foreignPage is the page size when listing objects to find those of others.
	foreignPage = 250
	// foreignNamed is how many of them a message names; the search stops there.
	foreignNamed = 3
	// soonServed is how soon a member serves a kind that it has accepted.
	soonServed = time.Minute
)

// NamespacedKinds returns the namespaced kinds of the member that can be listed. It fails if the list may be
// incomplete.
type NamespacedKinds func(ctx context.Context) ([]schema.GroupVersionKind, error)

// foreign returns the names of some objects that would be deleted with a Namespace or a CustomResourceDefinition
// although they are not from the hub; none if there are none, or if the object contains nothing or may be deleted
// with its contents. An error says that not all objects could be listed; an endsFirstError says that there are none,
// but that others have to be deleted first.
func (r *Reconciler) foreign(ctx context.Context, m plan.Manifest) ([]string, error) {
	if !plan.IsContainer(m.Object) || m.DeleteContents {
		return nil, nil
	}
	in, err := r.contents(ctx, m.Object)
	if err != nil {
		return nil, err
	}
	out := in.unlisted
	for _, kind := range in.kinds {
		if out, err = r.foreignOf(ctx, in, kind, out); err != nil || len(out) >= foreignNamed {
			return out, err
		}
	}
	if len(out) == 0 && in.first != nil {
		return nil, in.first
	}
	return out, nil
}

// contents returns the kinds of objects that an object contains, and their namespace.
func (r *Reconciler) contents(ctx context.Context, object plan.Object) (*container, error) {
	in := &container{Object: object}
	if err := r.discovery.Ready(ctx); err != nil { // an API server that is starting omits kinds, and their objects would be missed
		return nil, fmt.Errorf("asking the member what is in %s: %w", object, err)
	}
	if plan.IsNamespace(object) {
		var err error
		if in.kinds, err = r.namespacedKinds(ctx); err != nil {
			return nil, fmt.Errorf("asking the member which kinds can be in %s: %w", object, err)
		}
		in.namespace = object.Name
		return in, nil
	}
	definition, err := readBy(ctx, r.reader, object)
	if err != nil {
		return nil, fmt.Errorf("reading %s from the member: %w", object, err)
	}
	if definition == nil {
		return in, nil
	}
	in.definition = definition
	kind, served := plan.Instances(definition)
	if served {
		in.kinds = append(in.kinds, kind)
		return in, nil
	}
	in.unlisted, err = r.instancesUnlisted(in, kind)
	return in, err
}

// foreignOf adds the names of objects of a kind that are not from the hub, or must stay.
func (r *Reconciler) foreignOf(ctx context.Context, in *container, kind schema.GroupVersionKind, names []string) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		options := &client.ListOptions{Namespace: in.namespace, Limit: foreignPage, Continue: list.Continue}
		err := r.reader.List(ctx, list, options)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || apierrors.IsMethodNotSupported(err) {
			if in.definition == nil {
				return names, nil // the kind was removed, or has no stored objects to list
			}
			unlisted, err := r.instancesUnlisted(in, kind)
			return append(names, unlisted...), err
		}
		if apierrors.IsForbidden(err) { // do not delete what cannot be seen, but go on with the rest
			return append(names, fmt.Sprintf("any %s, which this agent may not list", kind.Kind)), nil
		}
		if err != nil {
			return names, fmt.Errorf("looking for objects of kind %s that are not from the hub: %w", kind.Kind, err)
		}
		for i := range list.Items {
			object := plan.Object{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(&list.Items[i])}
			stays, err := r.stays(ctx, in, object, &list.Items[i])
			if err == nil && stays {
				stays, err = r.still(ctx, object, &list.Items[i])
			}
			if err != nil {
				return names, err
			}
			if stays {
				names = append(names, object.String())
			}
			if len(names) >= foreignNamed {
				return names, nil
			}
		}
		if list.Continue == "" {
			return names, nil
		}
	}
}

// instancesUnlisted returns what to report if the member does not list the instances of an existing
// CustomResourceDefinition. Stored instances would be deleted with it all the same.
func (r *Reconciler) instancesUnlisted(in *container, kind schema.GroupVersionKind) ([]string, error) {
	since, established := plan.Established(in.definition)
	if !established {
		return nil, nil // it never accepted any
	}
	if kind.Version != "" && r.clock.Since(since).Abs() < soonServed {
		// This wraps no error of the member, since that would be classified as one about the definition.
		return nil, fmt.Errorf("looking for objects of kind %s that are not from the hub: the member is about to serve the kind, and does not list it yet", kind.Kind)
	}
	return []string{fmt.Sprintf("any %s, which the member does not list", kind.Kind)}, nil
}

// stays returns whether an object must not be deleted with its container: its Work decides, or else its kind and its
// owners.
func (r *Reconciler) stays(ctx context.Context, in *container, object plan.Object, obj *metav1.PartialObjectMetadata) (bool, error) {
	if obj.DeletionTimestamp != nil {
		if slices.Contains(obj.Finalizers, metav1.FinalizerOrphanDependents) {
			return false, fmt.Errorf("%s: %w", object, errLettingGo)
		}
		return false, nil // it is being deleted already, like the objects of a Work that has just ended
	}
	if stays, told, err := r.outlives(ctx, in, true, object, obj); told || err != nil {
		return stays, err
	}
	if !plan.Foreign(object.GroupVersionKind, obj) {
		return false, nil
	}
	if len(obj.OwnerReferences) == 0 {
		return true, nil
	}
	return r.ownedByWhatStays(ctx, in, obj, 0) // the owner of a derived object decides, wherever it is
}

// still returns whether an object that seemed to belong to no Work still exists as listed: its Work may have deleted
// it and ended since. Objects without the marks of a Work are not read again.
func (r *Reconciler) still(ctx context.Context, object plan.Object, listed *metav1.PartialObjectMetadata) (bool, error) {
	if _, ok := plan.WorkOf(listed); !ok {
		return true, nil
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(object.GroupVersionKind)
	err := r.reader.Get(ctx, object.NamespacedName, live)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err) || unserved(err):
		return true, nil // go by the list
	case err != nil:
		return false, fmt.Errorf("reading %s from the member once more: %w", object, err)
	}
	return live.UID != listed.UID || live.DeletionTimestamp == nil, nil
}

// errLettingGo is about an object whose dependents are being orphaned. Until that is done, they seem to be deleted as
// well.
var errLettingGo = errors.New("the objects made from it are to stay and are being released; the agent tries again")

// contentsError says that an object is not deleted because of objects of others in it.
type contentsError struct {
	object  plan.Object
	foreign []string
}

// Error implements error.
func (e *contentsError) Error() string { return plan.LeftMessage(e.object, e.foreign) }

// mayTakeContents returns a contentsError if deleting an object would delete others that are not from the hub, and
// another error if it would delete objects that Works still want.
func (r *Reconciler) mayTakeContents(ctx context.Context, m plan.Manifest) error {
	if err := r.spareWanted(ctx, m); err != nil {
		return err
	}
	foreign, err := r.foreign(ctx, m)
	if err == nil && len(foreign) > 0 {
		err = &contentsError{object: m.Object, foreign: foreign}
	}
	return err
}

// left reports, once, that an object stays in the member, and why.
func (r *Reconciler) left(ctx context.Context, work *workv1alpha1.Work, object plan.Object, because error) {
	note := because.Error()
	if !r.pendingDeletions.Refused(work, object, note) {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Leaving an object in the member", "manifest", object.String(), "reason", note)
	r.events(eventsink.Event{Regarding: work, Type: corev1.EventTypeWarning, Reason: reasonLeftInMember, Action: actionDelete, Note: note})
}

// leaveBehind removes our marks from a Namespace or a CustomResourceDefinition whose Work was evicted, and records on
// it which Work it belonged to.
func (r *Reconciler) leaveBehind(ctx context.Context, work types.NamespacedName, m plan.Manifest) (bool, error) {
	obj, err := readBy(ctx, r.reader, m.Object)
	if err != nil {
		return false, fmt.Errorf("reading %s from the member: %w", m.Object, err)
	}
	if obj == nil || !plan.Deletable(obj, work) {
		return false, nil
	}
	if plan.IsOfAnother(obj, m.Desired) {
		return false, &ofAnotherError{m.Object}
	}
	return r.takeMarks(ctx, obj, plan.LeaveBehind(obj, work))
}
