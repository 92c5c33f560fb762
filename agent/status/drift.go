package status

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Drifted records a change to an object of a Work that was made in the member and corrected.
func (r *Reporter) Drifted(work types.NamespacedName, drift workv1alpha1.Drift) {
	if work.Namespace != r.namespace {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.factsOf(work)
	f.drift = append(f.drift, drift)
	if len(f.drift) > workv1alpha1.MaxDrift { // the hub may be away for long
		f.drift = remember(nil, f.drift)
		slices.Reverse(f.drift)
	}
	f.changed = true
	r.soon(work, f)
}

// remember puts fresh drift, oldest first, in front of the known drift, newest first. A repeated change of the same
// object is counted, not repeated.
func remember(known, fresh []workv1alpha1.Drift) []workv1alpha1.Drift {
	out := slices.Clone(known)
	for _, d := range fresh {
		d.Times = max(d.Times, 1)
		i := slices.IndexFunc(out, func(k workv1alpha1.Drift) bool { return sameDrift(k, d) })
		if i >= 0 {
			d.Times += cmp.Or(out[i].Times, 1)
			if d.Time.Before(&out[i].Time) {
				d.Time = out[i].Time
			}
			out = slices.Delete(out, i, i+1)
		}
		out = slices.Insert(out, 0, d)
	}
	return out[:min(len(out), workv1alpha1.MaxDrift)]
}

func sameDrift(a, b workv1alpha1.Drift) bool {
	return a.Identifier == b.Identifier && a.Deleted == b.Deleted &&
		slices.Equal(a.Fields, b.Fields) && slices.Equal(a.ChangedBy, b.ChangedBy)
}
