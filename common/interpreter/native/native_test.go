package native_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
)

// TestWhichRulesThereAre is the table of the kinds and the operations.
func TestWhichRulesThereAre(t *testing.T) {
	t.Parallel()
	const (
		replica, revise, retain, status = interpreter.InterpretReplica, interpreter.ReviseReplica, interpreter.Retain, interpreter.InterpretStatus
		aggregated, health, needs       = interpreter.AggregateStatus, interpreter.InterpretHealth, interpreter.InterpretDependency
	)
	all := []interpreter.Operation{replica, revise, retain, status, aggregated, health, needs, interpreter.InterpretComponent}
	tests := map[schema.GroupVersionKind][]interpreter.Operation{
		{Group: "apps", Version: "v1", Kind: "Deployment"}:                               {replica, revise, retain, status, aggregated, health, needs},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"}:                               {replica, revise, retain, status, aggregated, health, needs},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"}:                              {replica, revise, retain, status, aggregated, health, needs},
		{Group: "apps", Version: "v1", Kind: "DaemonSet"}:                                {status, aggregated, health, needs},
		{Group: "batch", Version: "v1", Kind: "Job"}:                                     {replica, revise, retain, status, aggregated, health, needs},
		{Group: "batch", Version: "v1", Kind: "CronJob"}:                                 {status, aggregated, health, needs},
		{Version: "v1", Kind: "Pod"}:                                                     {replica, retain, status, aggregated, health, needs},
		{Version: "v1", Kind: "Service"}:                                                 {retain, status, aggregated, health},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}:                     {status, aggregated, health, needs},
		{Version: "v1", Kind: "PersistentVolumeClaim"}:                                   {retain, status, aggregated, health},
		{Version: "v1", Kind: "PersistentVolume"}:                                        {retain, status, aggregated, health, needs},
		{Version: "v1", Kind: "ServiceAccount"}:                                          {retain, status, needs},
		{Version: "v1", Kind: "Secret"}:                                                  {retain, status},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}:                    {status, aggregated, health},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}:           {status, aggregated, health},
		{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Kind: "ServiceImport"}:     {status, needs},
		{Version: "v1", Kind: "ReplicationController"}:                                   {replica, revise, retain, status, aggregated, health, needs},
		{Version: "v1", Kind: "Namespace"}:                                               {status, health},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}: {status, health},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}:             {status, health},
		{Version: "v1", Kind: "ConfigMap"}:                                               {status},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}:               {status},
		{Group: "example.com", Version: "v1", Kind: "Deployment"}:                        {status},
		{Group: "apps", Version: "v1beta1", Kind: "Deployment"}:                          {status},
	}
	for kind, want := range tests {
		g := NewWithT(t)
		for _, op := range all {
			g.Expect(native.New().Has(kind, op)).To(Equal(slices.Contains(want, op)), "%s of %s", op, kind)
		}
		g.Expect(native.New().Has(kind, "Divine")).To(BeFalse())
	}
}

func TestWithoutARuleThereIsAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	widget := made("example.com/v1", "Widget", object{})
	_, _, err := native.New().Replicas(t.Context(), widget)
	g.Expect(err).To(HaveOccurred())
	_, err = native.New().ReviseReplicas(t.Context(), widget, 1)
	g.Expect(err).To(HaveOccurred())
	_, err = native.New().Retain(t.Context(), widget, widget)
	g.Expect(err).To(HaveOccurred())
	_, err = native.New().AggregateStatus(t.Context(), widget, nil)
	g.Expect(err).To(HaveOccurred())
	_, err = native.New().Health(t.Context(), widget)
	g.Expect(err).To(HaveOccurred())
}
