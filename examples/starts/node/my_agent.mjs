import { call, serve } from "./mapsat.mjs";

// A scripted agent stands in for yours. Around the tools of an agent of the AI SDK or
// Mastra write sandboxed({ cancel_booking }): the sandbox answers them. Then:
//   serve(({ messages }) => agent.generate({ messages }));   // AI SDK, ToolLoopAgent
//   serve(({ messages }) => agent.generate(messages));       // Mastra
serve(async ({ messages }) => {
  if (messages.length === 1) return "Shall I cancel booking BK-1?";
  await call("cancel_booking", { booking_id: "BK-1" });
  return "Booking BK-1 is cancelled.";
});
