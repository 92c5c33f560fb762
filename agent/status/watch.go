package status

import (
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// workHandler handles events of Works: their deletion, and a status that differs from what the agent wrote, for
// instance after the hub was restored from a backup.
func (r *Reporter) workHandler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, obj any) {
			work, ok := obj.(*workv1alpha1.Work)
			if !ok {
				return
			}
			name := client.ObjectKeyFromObject(work)
			r.mu.Lock()
			defer r.mu.Unlock()
			f, ok := r.works[name]
			if !ok || !f.differs(work) {
				return
			}
			f.changed = true
			r.queue.AddAfter(name, trustWritten)
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if work, ok := obj.(*workv1alpha1.Work); ok {
				r.forget(client.ObjectKeyFromObject(work), work.UID)
			}
		},
	}
}

// forget drops the facts about a Work that is gone, unless another one of its name was reported since.
func (r *Reporter) forget(name types.NamespacedName, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.works[name]; ok && (!f.reported || f.uid == uid) {
		delete(r.works, name)
	}
}
