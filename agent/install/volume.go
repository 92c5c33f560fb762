package install

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"

	"fairlead.dev/agent/install/manifest"
)

// defaultClass marks the StorageClass of claims that name none.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// StateVolume returns where an agent is to keep its state if nobody says it: on a claimed volume
// if the member makes one by itself, since an agent whose journal goes with its pod enforces
// nothing while the hub is away, and removes nothing when it is retired. If it is not, the
// second says why and what to do, in a sentence.
func (i *Installer) StateVolume(ctx context.Context) (volume, why string) {
	const advice = "the journal of its Works goes with the agent's pod. --state-volume with a directory on the node keeps it"
	var classes storagev1.StorageClassList
	if err := i.memberClient.List(ctx, &classes); err != nil {
		return manifest.VolumeNone, fmt.Sprintf("It cannot be seen whether this cluster has a default StorageClass (%v), so %s", err, advice)
	}
	for c := range classes.Items {
		if classes.Items[c].Annotations[defaultClass] == "true" {
			return manifest.VolumeClaim, ""
		}
	}
	return manifest.VolumeNone, "This cluster has no default StorageClass, so " + advice
}
