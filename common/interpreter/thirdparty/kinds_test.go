package thirdparty

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
)

// TestWhichRulesThereAre is the table of the kinds and the operations.
func TestWhichRulesThereAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const (
		replica, component, revise, retain = interpreter.InterpretReplica, interpreter.InterpretComponent, interpreter.ReviseReplica, interpreter.Retain
		status, aggregated, health, needs  = interpreter.InterpretStatus, interpreter.AggregateStatus, interpreter.InterpretHealth, interpreter.InterpretDependency
	)
	rules, err := New(vm.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	tests := map[schema.GroupVersionKind][]interpreter.Operation{
		{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "AdvancedCronJob"}:                {aggregated, needs},
		{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "BroadcastJob"}:                   {replica, revise, retain, status, aggregated, health, needs},
		{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "CloneSet"}:                       {replica, revise, retain, status, aggregated, health, needs},
		{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "DaemonSet"}:                      {status, aggregated, health, needs},
		{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "SidecarSet"}:                     {replica, status, aggregated, health, needs},
		{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "UnitedDeployment"}:               {replica, revise, retain, status, aggregated, health, needs},
		{Group: "apps.kruise.io", Version: "v1beta1", Kind: "StatefulSet"}:                     {replica, revise, retain, status, aggregated, health, needs},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}:                       {retain, status, aggregated, health, needs},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}:                           {replica, revise, retain, status, aggregated, health, needs},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}:                          {replica, revise, retain, status, health, needs},
		{Group: "batch.volcano.sh", Version: "v1alpha1", Kind: "Job"}:                          {component, status, aggregated, health, needs},
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}:                         {status, aggregated, health, needs},
		{Group: "cert-manager.io", Version: "v1", Kind: "ClusterIssuer"}:                       {status, aggregated, health, needs},
		{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"}:                              {status, aggregated, health, needs},
		{Group: "external-secrets.io", Version: "v1", Kind: "ExternalSecret"}:                  {status, aggregated, health, needs},
		{Group: "external-secrets.io", Version: "v1beta1", Kind: "ExternalSecret"}:             {status, aggregated, health, needs},
		{Group: "flink.apache.org", Version: "v1beta1", Kind: "FlinkDeployment"}:               {replica, component, status, aggregated, health, needs},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "Gateway"}:                   {status, aggregated, health, needs},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}:                 {status, aggregated, health, needs},
		{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}:                  {retain, status, aggregated, health, needs},
		{Group: "helm.toolkit.fluxcd.io", Version: "v2beta1", Kind: "HelmRelease"}:             {retain, status, aggregated, health, needs},
		{Group: "helm.toolkit.fluxcd.io", Version: "v2beta2", Kind: "HelmRelease"}:             {retain, status, aggregated, health, needs},
		{Group: "kafka.strimzi.io", Version: "v1beta2", Kind: "Kafka"}:                         {component, status, aggregated, health, needs},
		{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}:                          {status, aggregated, health, needs},
		{Group: "kubeflow.org", Version: "v1", Kind: "Notebook"}:                               {replica, status, aggregated, health, needs},
		{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}:                             {component, status, aggregated, health, needs},
		{Group: "kubeflow.org", Version: "v1", Kind: "TFJob"}:                                  {component, status, aggregated, health, needs},
		{Group: "kubeflow.org", Version: "v1", Kind: "XGBoostJob"}:                             {component, status, aggregated, health, needs},
		{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}:                            {component, status, aggregated, health, needs},
		{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachine"}:                          {replica, retain, status, aggregated, health, needs},
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}:           {retain, status, aggregated, health, needs},
		{Group: "kyverno.io", Version: "v1", Kind: "ClusterPolicy"}:                            {status, aggregated, health, needs},
		{Group: "kyverno.io", Version: "v1", Kind: "Policy"}:                                   {status, aggregated, health, needs},
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "Prometheus"}:                    {replica, revise, retain, status, aggregated, health, needs},
		{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"}:                          {replica, revise, retain, status, aggregated, health, needs},
		{Group: "ray.io", Version: "v1", Kind: "RayCluster"}:                                   {component, retain, status, aggregated, health, needs},
		{Group: "ray.io", Version: "v1", Kind: "RayJob"}:                                       {component, status, aggregated, health, needs},
		{Group: "ray.io", Version: "v1", Kind: "RayService"}:                                   {replica, revise, status, aggregated, health, needs},
		{Group: "serving.knative.dev", Version: "v1", Kind: "Service"}:                         {status, aggregated, health, needs},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "Bucket"}:                     {retain, status, aggregated, health, needs},
		{Group: "source.toolkit.fluxcd.io", Version: "v1beta2", Kind: "Bucket"}:                {retain, status, aggregated, health, needs},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmChart"}:                  {retain, status, aggregated, health, needs},
		{Group: "source.toolkit.fluxcd.io", Version: "v1beta2", Kind: "HelmChart"}:             {retain, status, aggregated, health, needs},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmRepository"}:             {retain, status, aggregated, health, needs},
		{Group: "source.toolkit.fluxcd.io", Version: "v1beta2", Kind: "HelmRepository"}:        {retain, status, aggregated, health, needs},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}:              {retain, status, aggregated, health, needs},
		{Group: "source.toolkit.fluxcd.io", Version: "v1beta2", Kind: "OCIRepository"}:         {retain, status, aggregated, health, needs},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}:              {retain, status, aggregated, health, needs},
		{Group: "sparkoperator.k8s.io", Version: "v1beta2", Kind: "ScheduledSparkApplication"}: {component, status, aggregated, health, needs},
		{Group: "sparkoperator.k8s.io", Version: "v1beta2", Kind: "SparkApplication"}:          {component, status, aggregated, health, needs},
	}
	for kind, want := range tests {
		for _, op := range interpreter.Operations() {
			g.Expect(rules.Has(kind, op)).To(Equal(slices.Contains(want, op)), "%s of %s", op, kind)
		}
	}
	for _, kind := range rules.Kinds() {
		g.Expect(tests).To(HaveKey(kind), "a kind that is not in the table")
	}
}
