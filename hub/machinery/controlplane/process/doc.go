// Package process runs the components as child processes: it starts them again when they stop, keeps their logs
// bounded, stops them in order, and sees to it that none outlives this process, however this process ends.
package process
