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

// CacheOptions returns the options of the hub's cache. Objects have no managed fields; Works have no manifests, whose sizes the ledger, if
// there is one, records; of the leases, only those of agents are cached; and equal parts of many objects share memory.
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

// ClientOptions returns the options of the hub's client. It reads Secrets, and ConfigMaps, which are many and seldom needed, live.
func ClientOptions() client.Options {
	return client.Options{
		// Every write should name its own field manager; one that does not is at least attributed to the hub.
		FieldOwner: fieldOwner,
		Cache:      &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}},
	}
}

const fieldOwner = "fairlead-hub"

// stripMetadata drops what nobody reads: managed fields, and from templates, of which only metadata is cached, the annotation in which
// kubectl apply keeps a copy of the whole object. Templates are changed by patches, which leave the annotation alone.
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

// stripManifests drops the manifests, by far the largest part of a Work. Stages that need them read the Work live; the annotation
// contract.ManifestHashAnnotation identifies them. It also drops statuses beyond the size that agents report: with thousands of Works, they
// could fill the hub's memory.
func stripManifests(s *sharer, stored *storage.Ledger) toolscache.TransformFunc {
	strip := cache.TransformStripManagedFields()
	return func(in any) (any, error) {
		if work, ok := in.(*workv1alpha1.Work); ok {
			stored.Put(work)
			work.Spec.Workload.Manifests = nil
			work.GenerateName = "" // which may be of any length
			stripStatuses(work)
		}
		s.share(in)
		return strip(in)
	}
}

// stripStatuses drops the statuses that exceed the size limit of an agent's report. Their entries stay.
func stripStatuses(work *workv1alpha1.Work) {
	room := workv1alpha1.StatusRoom(workv1alpha1.MaxStatuses)
	for i := range work.Status.ManifestStatuses {
		if of := &work.Status.ManifestStatuses[i]; of.Status != nil && !room.Take(len(of.Status.Raw)) {
			of.Status = nil
		}
	}
}
