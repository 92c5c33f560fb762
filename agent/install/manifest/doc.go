// Package manifest renders the objects of an agent that runs in its member: what the Helm chart in
// manifests/charts/agent makes of the options of `agent join`. It is pure.
package manifest
