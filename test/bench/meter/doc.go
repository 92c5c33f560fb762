// Package meter is shared by the benches: usage of processes and API servers (processor time, memory, requests) as the
// difference between two readings; profiles of hubs and API servers, and what an API server spends its time on;
// measurements next to their targets; tables; and exit statuses.
package meter
