package podtemplate

import (
	corev1 "k8s.io/api/core/v1"
)

// volume reads the names of the objects that a volume refers to.
func (r *reader) volume(c content) corev1.Volume {
	var v corev1.Volume
	if source := r.object(c, "configMap"); source != nil {
		v.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: r.named(source)}
	}
	if source := r.object(c, "secret"); source != nil {
		v.Secret = &corev1.SecretVolumeSource{SecretName: r.text(source, "secretName")}
	}
	if source := r.object(c, "persistentVolumeClaim"); source != nil {
		v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: r.text(source, "claimName")}
	}
	if source := r.object(c, "projected"); source != nil {
		v.Projected = r.projected(source)
	}
	if source := r.object(c, "azureFile"); source != nil {
		v.AzureFile = &corev1.AzureFileVolumeSource{SecretName: r.text(source, "secretName")}
	}
	if ref := r.reference(c, "cephfs", "secretRef"); ref != nil {
		v.CephFS = &corev1.CephFSVolumeSource{SecretRef: ref}
	}
	if ref := r.reference(c, "cinder", "secretRef"); ref != nil {
		v.Cinder = &corev1.CinderVolumeSource{SecretRef: ref}
	}
	if ref := r.reference(c, "flexVolume", "secretRef"); ref != nil {
		v.FlexVolume = &corev1.FlexVolumeSource{SecretRef: ref}
	}
	if ref := r.reference(c, "rbd", "secretRef"); ref != nil {
		v.RBD = &corev1.RBDVolumeSource{SecretRef: ref}
	}
	if ref := r.reference(c, "scaleIO", "secretRef"); ref != nil {
		v.ScaleIO = &corev1.ScaleIOVolumeSource{SecretRef: ref}
	}
	if ref := r.reference(c, "iscsi", "secretRef"); ref != nil {
		v.ISCSI = &corev1.ISCSIVolumeSource{SecretRef: ref}
	}
	if ref := r.reference(c, "storageos", "secretRef"); ref != nil {
		v.StorageOS = &corev1.StorageOSVolumeSource{SecretRef: ref}
	}
	if ref := r.reference(c, "csi", "nodePublishSecretRef"); ref != nil {
		v.CSI = &corev1.CSIVolumeSource{NodePublishSecretRef: ref}
	}
	return v
}

func (r *reader) projected(source content) *corev1.ProjectedVolumeSource {
	out := &corev1.ProjectedVolumeSource{}
	for c := range r.objects(source, "sources") {
		var p corev1.VolumeProjection
		if ref := r.object(c, "configMap"); ref != nil {
			p.ConfigMap = &corev1.ConfigMapProjection{LocalObjectReference: r.named(ref)}
		}
		if ref := r.object(c, "secret"); ref != nil {
			p.Secret = &corev1.SecretProjection{LocalObjectReference: r.named(ref)}
		}
		out.Sources = append(out.Sources, p)
	}
	return out
}

// reference returns the Secret that a volume's source refers to; nil if there is none.
func (r *reader) reference(volume content, source, field string) *corev1.LocalObjectReference {
	ref := r.object(r.object(volume, source), field)
	if ref == nil {
		return nil
	}
	named := r.named(ref)
	return &named
}
