package apiserver

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/selector"
)

// stayPolicy is the admission policy that warns of propagation policies in namespaces that are never propagated.
const stayPolicy = "propagation-policies-stay.fairlead.dev"

// publishExclusions publishes, for all authenticated users, what is never propagated.
func (i *installer) publishExclusions(ctx context.Context, e selector.Exclusions) error {
	data := map[string]any{}
	for key, value := range e.Data() {
		data[key] = value
	}
	cm := &unstructured.Unstructured{Object: map[string]any{"data": data}}
	cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	cm.SetNamespace(metav1.NamespacePublic)
	cm.SetName(contract.ExclusionsName)
	cm.SetLabels(map[string]string{contract.SystemLabel: contract.LabelTrue})
	return i.apply(ctx, cm)
}

// GetExclusions reads what is never propagated; nil for an older hub that does not publish it.
func GetExclusions(ctx context.Context, hubClient client.Reader) (*selector.Exclusions, error) {
	cm := &corev1.ConfigMap{}
	err := hubClient.Get(ctx, types.NamespacedName{Namespace: metav1.NamespacePublic, Name: contract.ExclusionsName}, cm)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil means that it is not published
	}
	if err != nil {
		return nil, fmt.Errorf("reading what stays on the hub: %w", err)
	}
	e, err := selector.ReadExclusions(cm.Data)
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s, which says what stays on the hub: %w", cm.Namespace, cm.Name, err)
	}
	return &e, nil
}

// setExclusions sets the exclusions in the admission policy that warns, and leaves every other object unchanged.
func setExclusions(obj *unstructured.Unstructured, e *selector.Exclusions) error {
	if e == nil || obj.GetName() != stayPolicy || obj.GetKind() != "ValidatingAdmissionPolicy" {
		return nil
	}
	variables, _, err := unstructured.NestedSlice(obj.Object, "spec", "variables")
	if err != nil {
		return fmt.Errorf("reading the variables of %s: %w", stayPolicy, err)
	}
	for _, v := range variables {
		variable, _ := v.(map[string]any)
		switch variable["name"] {
		case "prefix":
			variable["expression"] = strconv.Quote(e.Prefix())
		case "skipped":
			variable["expression"] = strconv.Quote(e.Expression())
		}
	}
	return unstructured.SetNestedSlice(obj.Object, variables, "spec", "variables")
}
