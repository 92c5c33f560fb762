package setup

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/binding/storage"
)

// CacheOptions returns what the hub's cache keeps: nothing has managed fields; Works
// have no manifests, of which the ledger, if there is one, is told how large they are; of the leases there are those of the agents; what many objects say alike is in memory once.
func CacheOptions(stored *storage.Ledger) cache.Options {
	s := &sharer{}
	return cache.Options{
		DefaultTransform: stripMetadata(s),
		ByObject: map[client.Object]cache.ByObject{
			&workv1alpha1.Work{}: {Transform: stripManifests(s, stored)},
			&coordinationv1.Lease{}: {
				Namespaces: map[string]cache.Config{contract.ClusterNamespace: {Transform: cache.TransformStripManagedFields()}},
			},
		},
	}
}

// ClientOptions returns how the hub's client reads and writes: kinds that hold secrets,
// or that are many and seldom needed, are read live.
func ClientOptions() client.Options {
	return client.Options{
		// A write that names no other field manager is a slip; it shows as the hub's.
		FieldOwner: fieldOwner,
		Cache:      &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}},
	}
}

const fieldOwner = "fairlead-hub"

// stripMetadata drops what nobody reads: managed fields, and of templates, of which metadata is all that is
// kept, the copy of the whole object that kubectl apply leaves in an annotation. A change of a template is
// written as a difference, which leaves the annotation where it is.
func stripMetadata(s *sharer) toolscache.TransformFunc {
	strip := cache.TransformStripManagedFields()
	return func(in any) (any, error) {
		if template, ok := in.(*metav1.PartialObjectMetadata); ok {
			delete(template.Annotations, corev1.LastAppliedConfigAnnotation)
		}
		s.share(in)
		return strip(in)
	}
}

// stripManifests drops what is by far the most of a Work. Who needs it reads the Work
// live; the annotation contract.ManifestHashAnnotation says what it is. Of statuses that are more than agents report it keeps
// that they are: whoever writes them has a thousand Works, and would fill the memory of the hub.
func stripManifests(s *sharer, stored *storage.Ledger) toolscache.TransformFunc {
	strip := cache.TransformStripManagedFields()
	return func(in any) (any, error) {
		if work, ok := in.(*workv1alpha1.Work); ok {
			stored.Put(work)
			work.Spec.Workload.Manifests = nil
			stripStatuses(work)
		}
		s.share(in)
		return strip(in)
	}
}

// stripStatuses drops the statuses that have no room in a report of an agent.
func stripStatuses(work *workv1alpha1.Work) {
	room := workv1alpha1.StatusRoom(workv1alpha1.MaxStatuses)
	for i := range work.Status.ManifestStatuses {
		if of := &work.Status.ManifestStatuses[i]; of.Status != nil && !room.Take(len(of.Status.Raw)) {
			of.Status = nil
		}
	}
}
