package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
)

// The flags for the objects in question.
const (
	desiredFlag  = "--desired-file"
	observedFlag = "--observed-file"
	statusFlag   = "--status-file"
	replicasFlag = "--desired-replica"
)

// inputsOf returns the flags that an operation needs; the first names the object.
func inputsOf(op interpreter.Operation) []string {
	switch op {
	case interpreter.ReviseReplica:
		return []string{desiredFlag, replicasFlag}
	case interpreter.Retain:
		return []string{desiredFlag, observedFlag}
	case interpreter.InterpretStatus, interpreter.InterpretHealth:
		return []string{observedFlag}
	case interpreter.AggregateStatus:
		return []string{desiredFlag, statusFlag}
	default:
		return []string{desiredFlag}
	}
}

// question reads the question from the flags; replicas says whether the number of replicas was given.
func (f *interpretFlags) question(replicas bool) (interpreter.Question, error) {
	var q interpreter.Question
	i := slices.IndexFunc(interpreter.Operations(), func(op interpreter.Operation) bool { return strings.EqualFold(string(op), f.operation) })
	if i < 0 {
		return q, fmt.Errorf("--operation is %q; it must be one of %s", f.operation, strings.Join(operationNames(), ", "))
	}
	q.Operation, q.Replicas = interpreter.Operations()[i], f.replicas
	given := map[string]bool{desiredFlag: f.desired != "", observedFlag: f.observed != "", statusFlag: f.status != "", replicasFlag: replicas}
	wanted := inputsOf(q.Operation)
	for _, name := range []string{desiredFlag, observedFlag, statusFlag, replicasFlag} {
		if want := slices.Contains(wanted, name); want != given[name] {
			return q, fmt.Errorf("%s takes exactly %s", q.Operation, strings.Join(wanted, " and "))
		}
	}
	if f.replicas < 0 {
		return q, errors.New(replicasFlag + " is negative")
	}
	return q, f.read(&q)
}

// read reads the files of a question.
func (f *interpretFlags) read(q *interpreter.Question) (err error) {
	switch {
	case q.Operation == interpreter.ReviseReplica, q.Operation == interpreter.Retain, q.Operation == interpreter.AggregateStatus:
	case f.diff:
		return fmt.Errorf("--diff shows how an object changes, but %s changes none", q.Operation)
	}
	var desired, observed *unstructured.Unstructured
	if f.desired != "" {
		if desired, err = readObject(f.desired); err != nil {
			return err
		}
	}
	if f.observed != "" {
		if observed, err = readObject(f.observed); err != nil {
			return err
		}
	}
	if q.Object, q.Live = desired, observed; desired == nil {
		q.Object, q.Live = observed, nil
	}
	if f.status != "" {
		q.Items, err = readItems(f.status)
	}
	return err
}

// readItems reads the statuses that members reported.
func readItems(file string) ([]workv1alpha2.AggregatedStatusItem, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	var items []workv1alpha2.AggregatedStatusItem
	asList := yaml.UnmarshalStrict(data, &items)
	if asList == nil {
		return items, nil
	}
	b := &workv1alpha2.ResourceBinding{}
	if err := yaml.Unmarshal(data, b); err != nil || !strings.HasSuffix(b.Kind, workv1alpha2.KindResourceBinding) {
		return nil, fmt.Errorf("reading %s: it is neither a binding nor a list of items such as `- {clusterName: edge-1, status: {…}}`: %w", file, asList)
	}
	return b.Status.AggregatedStatus, nil
}

// readCustomizations reads files that contain only customizations.
func readCustomizations(files []string) ([]configv1alpha1.ResourceInterpreterCustomization, error) {
	var out []configv1alpha1.ResourceInterpreterCustomization
	for _, file := range files {
		err := eachDocument(file, func(kind string, document []byte) error {
			if kind != configv1alpha1.KindResourceInterpreterCustomization {
				return fmt.Errorf("it holds a %s; -f takes ResourceInterpreterCustomizations", kind)
			}
			var c configv1alpha1.ResourceInterpreterCustomization
			if err := yaml.UnmarshalStrict(document, &c); err != nil {
				return fmt.Errorf("the %s cannot be read: %w", kind, err)
			}
			out = append(out, c)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, errors.New("name a file with ResourceInterpreterCustomizations with -f")
	}
	return out, nil
}

// byConvention determines health by conventions, for kinds without a rule.
type byConvention struct{ interpreter.Interpreter }

// Health implements interpreter.Interpreter.
func (byConvention) Health(_ context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	return interpreter.ConventionalHealth(live), nil
}
