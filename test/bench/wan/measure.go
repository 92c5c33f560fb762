package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// until waits until count returns want for the Works.
func (b *bench) until(ctx context.Context, what, size string, count func([]workv1alpha1.Work) int, want int) error {
	told := time.Now()
	err := wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
		var works workv1alpha1.WorkList
		if err := b.list(ctx, &works, size); err != nil {
			return false, err
		}
		n := count(works.Items)
		if what != "" && time.Since(told) > 10*time.Second {
			told = time.Now()
			progress("%d of %d %s", n, want, what)
		}
		return n >= want, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %d %s: %w", want, what, err)
	}
	return nil
}

// list lists the Works of the templates of a size.
func (b *bench) list(ctx context.Context, works *workv1alpha1.WorkList, size string) error {
	if err := b.hub.List(ctx, works, client.InNamespace(contract.DefaultExecutionNamespacePrefix+member)); err != nil {
		return fmt.Errorf("listing Works: %w", err)
	}
	ours := works.Items[:0]
	for _, w := range works.Items {
		if w.Annotations[contract.ResourceBindingNamespaceAnnotation] == namespace && strings.HasPrefix(w.Name, size) {
			ours = append(ours, w)
		}
	}
	works.Items = ours
	return nil
}

func reported(works []workv1alpha1.Work) int {
	n := 0
	for i := range works {
		applied := meta.FindStatusCondition(works[i].Status.Conditions, workv1alpha1.WorkApplied)
		if applied != nil && applied.Status == metav1.ConditionTrue && applied.ObservedGeneration == works[i].Generation {
			n++
		}
	}
	return n
}

// bytes are the sizes of the objects themselves, as JSON.
type bytes struct {
	// works excludes statuses; templates are as their author wrote them.
	works, statuses, templates int64
}

// each returns the average of n.
func (b bytes) each(n int) bytes {
	return bytes{b.works / int64(n), b.statuses / int64(n), b.templates / int64(n)}
}

// own returns the bytes of all objects of a size.
func (b *bench) own(ctx context.Context, size string) (bytes, error) {
	var out bytes
	var works workv1alpha1.WorkList
	if err := b.list(ctx, &works, size); err != nil {
		return out, err
	}
	for i, w := range works.Items {
		status := w.Status
		w.Status, w.ManagedFields = workv1alpha1.WorkStatus{}, nil
		obj := template(size, i)
		for to, of := range map[*int64]any{
			&out.statuses: status, &out.works: w,
			&out.templates: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": obj.Data, "metadata": map[string]any{
				"namespace": obj.Namespace, "name": obj.Name, "labels": obj.Labels,
			}},
		} {
			text, err := json.Marshal(of)
			if err != nil {
				return out, fmt.Errorf("encoding what a Work consists of: %w", err)
			}
			*to += int64(len(text))
		}
	}
	return out, nil
}

// row adds a row to the report.
func (b *bench) row(what string, took time.Duration, used usage, its bytes) {
	own, ofWorks, ofTemplates := "–", "–", "–"
	if its.works > 0 {
		own = fmt.Sprintf("%s / %s", kilobytes(its.works), kilobytes(its.statuses))
		ofWorks = fmt.Sprintf("%.2f", float64(used.down+used.up)/float64(its.works+its.statuses))
		ofTemplates = fmt.Sprintf("%.2f", float64(used.down+used.up)/float64(its.templates+its.statuses))
	}
	progress("%s: %.1f s, %s to the member, %s from it, %d connections", what, took.Seconds(), kilobytes(used.down), kilobytes(used.up), used.connections)
	b.report.Row(what, fmt.Sprintf("%.1f", took.Seconds()), kilobytes(used.down), kilobytes(used.up), own, ofWorks, ofTemplates, strconv.Itoa(used.connections))
}

// judge compares the bytes on the line with those of the objects.
func (b *bench) judge(what string, used usage, its bytes) {
	b.bars.Most(what+": bytes beside their own", float64(used.down+used.up)/float64(its.works+its.statuses), mostBytes, "x")
}

func kilobytes(n int64) string { return fmt.Sprintf("%.1f kB", float64(n)/1000) }
