// The agent of function_agent.py as a program of its own, in Go: each line of standard input and output is a JSON object.
//
// pytest benchmark_cases/realtime/next-bus.yaml --mapsat-agent="cmd:go run examples/command_agent.go"
//
// For a whole suite, build it once: go build -o bus_agent examples/command_agent.go, then cmd:./bus_agent.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
)

type line struct {
	Line, Alight string
	Next         []string
	RideMin      int `json:"ride_min"`
	FareYuan     int `json:"fare_yuan"`
}

// heard is a message, or the result of a call.
type heard struct {
	Message string
	Context struct {
		City     string
		Location *struct{ Name string }
	}
	Result struct{ Lines []line }
}

var in, out = json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout) // logs go to os.Stderr
var destination = regexp.MustCompile(`\bto ([A-Z]\w*(?: [A-Z]\w*)*)`)

func agent(asked heard) string {
	to := destination.FindStringSubmatch(asked.Message)
	if to == nil || asked.Context.Location == nil {
		return "I only know about buses. Where do you want to go?"
	}
	arguments := map[string]any{"city": asked.Context.City, "origin": asked.Context.Location.Name, "destination": to[1]}
	out.Encode(map[string]any{"type": "call", "id": 1, "name": "get_transit_lines", "arguments": arguments})
	var found heard
	if err := in.Decode(&found); err != nil {
		panic(err)
	}
	leaving := []line{}
	for _, line := range found.Result.Lines {
		if len(line.Next) > 0 {
			leaving = append(leaving, line)
		}
	}
	if len(leaving) == 0 {
		return fmt.Sprintf("I found no bus to %s.", to[1])
	}
	sort.Slice(leaving, func(a, b int) bool { return leaving[a].Next[0] < leaving[b].Next[0] })
	first := leaving[0]
	return fmt.Sprintf("Take %s at %s and get off at %s. The ride takes %d min and costs %d yuan.",
		first.Line, first.Next[0], first.Alight, first.RideMin, first.FareYuan)
}

func main() {
	for {
		var asked heard
		if in.Decode(&asked) != nil {
			return // the episode is over
		}
		out.Encode(map[string]any{"type": "reply", "text": agent(asked)})
	}
}
