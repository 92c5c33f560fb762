package kwok

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Ensure reconciles the nodes of the cluster: it creates missing ones, updates the labels and size of the others, and
// deletes surplus ones. Nodes that somebody else created are left alone.
func (n Nodes) Ensure(ctx context.Context, c kubernetes.Interface) error {
	list, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: ownedLabel})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	live := map[string]*corev1.Node{}
	for i := range list.Items {
		live[list.Items[i].Name] = &list.Items[i]
	}
	for _, desired := range n.Make() {
		if err := ensureNode(ctx, c, desired, live[desired.Name]); err != nil {
			return fmt.Errorf("ensuring node %q: %w", desired.Name, err)
		}
		delete(live, desired.Name)
	}
	for name := range live {
		if err := c.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting node %q: %w", name, err)
		}
	}
	return nil
}

func ensureNode(ctx context.Context, c kubernetes.Interface, desired, live *corev1.Node) error {
	if live == nil {
		_, err := c.CoreV1().Nodes().Create(ctx, desired, metav1.CreateOptions{})
		return err
	}
	edited := live.DeepCopy()
	// Topology labels are managed here; other labels may be the user's.
	delete(edited.Labels, corev1.LabelTopologyRegion)
	delete(edited.Labels, corev1.LabelTopologyZone)
	maps.Copy(edited.Labels, desired.Labels)
	if !maps.Equal(edited.Labels, live.Labels) {
		var err error
		if edited, err = c.CoreV1().Nodes().Update(ctx, edited, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if equality.Semantic.DeepEqual(edited.Status.Capacity, desired.Status.Capacity) &&
		equality.Semantic.DeepEqual(edited.Status.Allocatable, desired.Status.Allocatable) {
		return nil
	}
	edited.Status.Capacity, edited.Status.Allocatable = desired.Status.Capacity, desired.Status.Allocatable
	_, err := c.CoreV1().Nodes().UpdateStatus(ctx, edited, metav1.UpdateOptions{})
	return err
}

// EnsureStorage creates a default storage class, for which volume.yaml creates volumes, so that a StatefulSet with
// claims becomes ready.
func EnsureStorage(ctx context.Context, c kubernetes.Interface) error {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "standard",
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner: "kwok.x-k8s.io/volume",
	}
	_, err := c.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating storage class: %w", err)
	}
	return nil
}
