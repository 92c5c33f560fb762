package render

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/jsondepth"
	"fairlead.dev/common/override"
	"fairlead.dev/common/prose"
	"fairlead.dev/common/prune"
)

// ofAnnotation is how much of an annotation errors quote, in characters.
const ofAnnotation = 60

// workIDSpace is the UUID name space of the derived permanent ids of Works.
const workIDSpace = "0f6c6ea1-53f4-4d64-9f0b-3f3f0a5d2c1e"

// Revise returns the object with another number of replicas, and modifies nothing.
type Revise func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error)

// Input is what a Work is rendered from. It is not modified.
type Input struct {
	// Template is the user's object.
	Template *unstructured.Unstructured
	// Binding is the template's binding. It has its permanent id.
	Binding workv1alpha2.Binding
	// Target is the cluster that the Work is for, and its share.
	Target workv1alpha2.TargetCluster
	// Cluster is the Cluster object. It may be nil if Overrides is empty.
	Cluster *clusterv1alpha1.Cluster
	// Revise sets the replicas; nil if the kind has no rule for that.
	Revise Revise
	// Overrides are the override policies that apply to the template.
	Overrides override.Plan
	// Annotations are additional annotations for the Work, but not for the manifest.
	Annotations map[string]string
	// Preserved is bindings.Preserving of the binding; nil to compute it for the one cluster.
	Preserved func(cluster string) bool
	// ExecutionNamespacePrefix is the prefix of the execution namespace, before the name of the cluster.
	ExecutionNamespacePrefix string
}

// Work returns the Work for one cluster, complete except for what the API server fills in. Its annotation contract.ManifestHashAnnotation
// is the hash of its spec.
func Work(in Input) (*workv1alpha1.Work, error) {
	bound, err := readBinding(in.Binding)
	if err != nil {
		return nil, err
	}

	// 1. What the cluster is to have.
	overridden, err := customize(in)
	if err != nil {
		return nil, err
	}
	obj := overridden.Object

	// 2. The namespace and name of the Work.
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace:  contract.ExecutionNamespace(in.ExecutionNamespacePrefix, in.Target.Name),
		Name:       contract.WorkName(in.Template.GetKind(), in.Template.GetNamespace(), in.Template.GetName()),
		Finalizers: []string{contract.ExecutionFinalizer},
		Labels: map[string]string{
			bound.idLabel:                 bound.id,
			contract.WorkPermanentIDLabel: permanentID(bound.id, in.Target.Name),
		},
		Annotations: maps.Clone(bound.annotations),
	}}
	work.Annotations[contract.ConflictResolutionAnnotation] = conflictResolution(in.Template, in.Binding.BindingSpec().ConflictResolution)
	applied, err := overridden.Annotations()
	if err != nil {
		return nil, err
	}

	// 3. The manifest, which says where it comes from. Only the Work says which override policies were applied to it.
	if err := mark(obj, in, work); err != nil {
		return nil, err
	}
	maps.Copy(work.Annotations, applied)
	maps.Copy(work.Annotations, in.Annotations)
	if in.Revise != nil && bindings.Divided(in.Binding.BindingSpec()) {
		work.Annotations[contract.ReplicasAnnotation] = strconv.FormatInt(int64(in.Target.Replicas), 10)
	}
	manifest, err := encode(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	if jsondepth.Of(manifest) > jsondepth.MaxManifest {
		return nil, fmt.Errorf("the object is nested more than %d levels deep, and no agent reads it; make it flatter", jsondepth.MaxManifest)
	}
	work.Spec = workv1alpha1.WorkSpec{
		Workload: workv1alpha1.WorkloadTemplate{
			Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: manifest}}},
		},
		SuspendDispatching:          new(bindings.Suspended(in.Binding.BindingSpec().Suspension, in.Target.Name)),
		PreserveResourcesOnDeletion: new(in.preserved()),
	}
	work.Annotations[contract.ManifestHashAnnotation] = hash(&work.Spec, manifest)
	return work, nil
}

// customize returns the object as the cluster is to have it: with its replicas, the overrides, and without what only the hub means.
func customize(in Input) (override.Result, error) {
	obj, err := reviseReplicas(in)
	if err != nil {
		return override.Result{}, err
	}
	if err := reviseCompletions(obj, in); err != nil {
		return override.Result{}, err
	}
	overridden, err := in.Overrides.Apply(obj, in.Cluster)
	if err != nil {
		return override.Result{}, err
	}
	if err := checkPropagation(overridden.Object); err != nil {
		return override.Result{}, err
	}
	prune.Object(overridden.Object)
	return overridden, nil
}

// checkPropagation refuses a slip in what is to become of the object's dependents when it is deleted: they would be deleted
// with it, and their author may have meant to keep them.
func checkPropagation(obj *unstructured.Unstructured) error {
	said, _, _ := unstructured.NestedString(obj.Object, "metadata", "annotations", contract.DeletionPropagationAnnotation)
	if _, ok := contract.PropagationOf(said); !ok {
		return fmt.Errorf("the annotation %s of the object is %q, but must be Background, Foreground or Orphan; correct it",
			contract.DeletionPropagationAnnotation, prose.Cut(said, ofAnnotation))
	}
	return nil
}

// preserved returns whether the object stays in the cluster when the Work is deleted.
func (in Input) preserved() bool {
	if in.Preserved != nil {
		return in.Preserved(in.Target.Name)
	}
	return bindings.Preserved(in.Binding.BindingSpec(), in.Target.Name)
}

// boundBy returns the marks by which a Work and a manifest name their binding.
type boundBy struct {
	idLabel     string
	id          string
	annotations map[string]string
}

func readBinding(b workv1alpha2.Binding) (boundBy, error) {
	out := boundBy{
		idLabel: bindings.IDLabel(b.GetNamespace()),
		annotations: map[string]string{
			contract.ResourceBindingNamespaceAnnotation: b.GetNamespace(),
			contract.ResourceBindingNameAnnotation:      b.GetName(),
		},
	}
	if b.GetNamespace() == "" {
		out.annotations = map[string]string{contract.ClusterResourceBindingNameAnnotation: b.GetName()}
	}
	if out.id = b.GetLabels()[out.idLabel]; out.id == "" {
		return boundBy{}, fmt.Errorf("binding %q has no label %s, which the hub sets when it creates a binding; delete the binding, and the hub creates it again", b.GetName(), out.idLabel)
	}
	return out, nil
}

// permanentID derives the id of a Work, so that rendering does not depend on the existing Work.
func permanentID(bindingID, cluster string) string {
	return uuid.NewSHA1(uuid.MustParse(workIDSpace), []byte(bindingID+"/"+cluster)).String()
}

// conflictResolution returns the conflict resolution that the template names, or else the policy's.
func conflictResolution(template *unstructured.Unstructured, ofPolicy policyv1alpha1.ConflictResolution) string {
	switch said := template.GetAnnotations()[contract.ConflictResolutionAnnotation]; {
	case said == contract.ConflictOverwrite, said == contract.ConflictAbort:
		return said
	case ofPolicy == policyv1alpha1.ConflictOverwrite:
		return contract.ConflictOverwrite
	default:
		return contract.ConflictAbort
	}
}

// mark puts the labels and annotations on the manifest by which it is recognised in the member, and the lists of all labels and annotations
// that it sets.
func mark(obj *unstructured.Unstructured, in Input, work *workv1alpha1.Work) error {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return errors.New("the template has no metadata")
	}
	labels := ensureMap(metadata, "labels")
	for key, value := range preservedState(in.Binding.BindingSpec(), in.Target.Name) {
		labels[key] = value
	}
	for key, value := range work.Labels {
		labels[key] = value
	}
	labels[contract.ManagedLabel] = contract.LabelTrue

	annotations := ensureMap(metadata, "annotations")
	for key, value := range work.Annotations {
		annotations[key] = value
	}
	annotations[contract.WorkNamespaceAnnotation] = work.Namespace
	annotations[contract.WorkNameAnnotation] = work.Name
	annotations[contract.TemplateUIDAnnotation] = string(in.Template.GetUID())
	delete(annotations, contract.TemplateGenerationAnnotation)
	if generation := in.Template.GetGeneration(); generation > 0 {
		annotations[contract.TemplateGenerationAnnotation] = strconv.FormatInt(generation, 10)
	}
	annotations[contract.ManagedLabelsAnnotation] = ""
	annotations[contract.ManagedAnnotationsAnnotation] = ""
	annotations[contract.ManagedLabelsAnnotation] = joinKeys(labels)
	annotations[contract.ManagedAnnotationsAnnotation] = joinKeys(annotations)
	return nil
}

// preservedState returns the labels with the state that was read from the failed copy, for the copy that replaces it in a cluster.
func preservedState(spec *workv1alpha2.ResourceBindingSpec, cluster string) map[string]string {
	tasks := spec.GracefulEvictionTasks
	if len(tasks) == 0 {
		return nil
	}
	last := &tasks[len(tasks)-1]
	if len(last.PreservedLabelState) == 0 || len(spec.Clusters) > 1 || len(bindings.Targets(spec)) != 1 { // few bindings have any, and this is called for each target
		return nil
	}
	if last.PurgeMode.Canonical() != policyv1alpha1.PurgeDirectly || slices.Contains(last.ClustersBeforeFailover, cluster) {
		return nil
	}
	return last.PreservedLabelState
}

func ensureMap(parent map[string]any, field string) map[string]any {
	if m, ok := parent[field].(map[string]any); ok {
		return m
	}
	m := map[string]any{}
	parent[field] = m
	return m
}

func joinKeys(m map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ",")
}

// hash covers every rendered field of the spec.
func hash(spec *workv1alpha1.WorkSpec, manifest []byte) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%t %t ", *spec.SuspendDispatching, *spec.PreserveResourcesOnDeletion) // writing to a hash never fails
	_, _ = h.Write(manifest)
	return hex.EncodeToString(h.Sum(nil))
}
