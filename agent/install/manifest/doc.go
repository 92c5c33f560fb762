// Package manifest says what an agent consists of that runs in its member: what the Helm chart in manifests/charts/agent
// makes of the options of `agent join`. It only thinks.
package manifest
