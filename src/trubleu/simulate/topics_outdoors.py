"""Topics of the made world that take people out; how they are written is said in `trubleu.simulate.lexicon`."""

from __future__ import annotations

from typing import Final

TOPICS: Final = {
    "football": {
        "thing": "match=derby, jersey=football shirt, trophy=cup, season ticket=fan card, football=leather ball, "
        "club scarf=fan scarf, team=squad, penalty=spot kick, replay=second leg, football boot=studded "
        "boot, goal net=goal post, captain's armband=armband",
        "doing": "score goals/scored goals/scoring goals, watch the derby/watched the derby/watching the derby, "
        "cheer for the team/cheered for the team/cheering for the team=support the team/supported the "
        "team/supporting the team, pass the ball/passed the ball/passing the ball, play five a side/played "
        "five a side/playing five a side, dribble/dribbled/dribbling, take corners/took corners/taking "
        "corners, train the juniors/trained the juniors/training the juniors, head the ball/headed the "
        "ball/heading the ball, tackle/tackled/tackling",
        "place": "at the stadium=in the arena, on the pitch=on the grass pitch, in the stands=in the fan block, at "
        "the training ground, at the away game, in the penalty area, on the bench=on the substitutes' "
        "bench, at the sports bar=in the fan pub, in the dressing room=in the changing room, at the cup "
        "final",
        "good": "unbeaten=undefeated, full of goals=high scoring, offensive=attacking, world class=top class, "
        "sporting=fair",
        "bad": "goalless=without a goal, second rate=second division, unfair=full of fouls, relegated=sent down, "
        "defensive=far too defensive",
    },
    "travel": {
        "thing": "flight=plane, hotel=guest house, suitcase=luggage, passport=visa, train ticket=rail pass, "
        "island=isle, beach=seashore, museum=exhibition, guidebook=travel guide, souvenir=postcard, "
        "hostel=youth hostel, cruise=ferry trip",
        "doing": "travel/travelled/travelling=go abroad/went abroad/going abroad, pack bags/packed bags/packing "
        "bags, tour the sights/toured the sights/touring the sights=go sightseeing/went sightseeing/going "
        "sightseeing, book a room/booked a room/booking a room, fly south/flew south/flying south, lie in "
        "the sun/lay in the sun/lying in the sun=sunbathe/sunbathed/sunbathing, "
        "hitchhike/hitchhiked/hitchhiking, learn the language/learned the language/learning the language, "
        "explore old towns/explored old towns/exploring old towns, take the night train/took the night "
        "train/taking the night train",
        "place": "at the airport=in the terminal, at the seaside=by the sea, in the old town=in the historic centre, "
        "at the border, on the platform, in lisbon=in portugal, at the travel agency, in the lobby=at the "
        "reception, on the promenade, in rome=in italy",
        "good": "sunny=full of sunshine, scenic=picturesque, welcoming=hospitable, exotic=far from home, all "
        "inclusive=with breakfast included",
        "bad": "delayed=five hours late, overcrowded=full of tourists, overbooked=fully booked, lost on the way=lost "
        "in transit, touristy=a tourist trap",
    },
    "garden": {
        "thing": "tomato plant=tomato, rose bush=rose, lawn=grass, greenhouse=hothouse, hedge=bush, apple tree=fruit "
        "tree, compost heap=compost, flower bed=tulip bed, watering can=garden hose, lawn mower=mower, "
        "pumpkin=squash, herb bed=basil",
        "doing": "garden/gardened/gardening, water the plants/watered the plants/watering the plants=water the "
        "flowers/watered the flowers/watering the flowers, pull weeds/pulled weeds/pulling "
        "weeds=weed/weeded/weeding, plant seeds/planted seeds/planting seeds=sow seeds/sowed seeds/sowing "
        "seeds, mow/mowed/mowing, prune trees/pruned trees/pruning trees, dig/dug/digging, rake "
        "leaves/raked leaves/raking leaves, pick berries/picked berries/picking berries, grow herbs/grew "
        "herbs/growing herbs",
        "place": "in the garden=in the back yard, on the balcony=on the terrace, in the allotment, at the garden "
        "centre=at the plant nursery, in the shed=in the tool shed, behind the fence, in the vegetable "
        "patch, by the pond, in the orchard, under the apple trees",
        "good": "in bloom=blossoming, ripe=ready to pick, green=lush, fragrant=sweet smelling, sprouting=growing well",
        "bad": "withered=wilted, full of weeds=overgrown, rotten=mouldy, full of slugs=eaten by snails, dried "
        "out=thirsty",
    },
    "pets": {
        "thing": "puppy=dog, kitten=cat, parrot=budgie, poodle=terrier, rabbit=bunny, hamster=guinea pig, "
        "goldfish=fish, canary=cockatoo, lizard=gecko, ferret=gerbil, turtle=tortoise, pony=foal",
        "doing": "walk the dog/walked the dog/walking the dog, feed the cat/fed the cat/feeding the cat, "
        "bark/barked/barking, purr/purred/purring, fetch sticks/fetched sticks/fetching sticks, brush "
        "fur/brushed fur/brushing fur, cuddle/cuddled/cuddling=snuggle/snuggled/snuggling, chase "
        "mice/chased mice/chasing mice, clean the cage/cleaned the cage/cleaning the cage, train "
        "puppies/trained puppies/training puppies=teach tricks/taught tricks/teaching tricks",
        "place": "at the dog park=on the dog meadow, at the pet shop=at the pet store, in the kennel=in the dog "
        "house, at the animal shelter=at the rescue home, in the aquarium, on the scratching post, in the "
        "stable, in the cage, at the vet's, on the farm",
        "good": "fluffy=furry, cuddly=cute, loyal=faithful, house trained=well behaved, playful=frisky",
        "bad": "full of fleas=itchy, naughty=disobedient, always hungry=eating too much, scratching the sofa=clawing "
        "everything, chewing shoes=biting everything",
    },
    "cars": {
        "thing": "car=automobile, engine=motor, tyre=wheel, garage=repair shop, van=truck, driving licence=driving "
        "test, battery=alternator, brake=handbrake, gearbox=clutch, windscreen=windshield, "
        "motorbike=motorcycle, convertible=cabriolet",
        "doing": "drive/drove/driving=go for a drive/went for a drive/going for a drive, park/parked/parking, change "
        "tyres/changed tyres/changing tyres, wash the car/washed the car/washing the car, fill the "
        "tank/filled the tank/filling the tank=refuel/refuelled/refuelling, overtake/overtook/overtaking, "
        "change gears/changed gears/changing gears, check the oil/checked the oil/checking the oil, take "
        "driving lessons/took driving lessons/taking driving lessons, wait in traffic/waited in "
        "traffic/waiting in traffic=sit in a jam/sat in a jam/sitting in a jam",
        "place": "on the motorway=on the highway, at the petrol station=at the gas station, in the car park=in the "
        "parking lot, at the dealer's=at the car dealer, at the mechanic's, at the traffic lights, in the "
        "fast lane, in the driver's seat=behind the wheel, at the race track, at the roundabout",
        "good": "electric=battery powered, economical=cheap to run, roomy=spacious, powerful=strong, roadworthy=safe "
        "to drive",
        "bad": "rusty=full of rust, dented=scratched, thirsty for petrol=using too much petrol, broken down=stalled, "
        "hard to park=too wide",
    },
    "cycling": {
        "thing": "bike=bicycle, helmet=bike helmet, saddle=bike seat, chain=bike chain, pump=air pump, mountain "
        "bike=downhill bike, bike lane=cycle path, pannier=bike bag, bell=bike bell, handlebar=front fork, "
        "pedal=crank, bike lock=padlock",
        "doing": "cycle/cycled/cycling=go by bike/went by bike/going by bike, pedal uphill/pedalled uphill/pedalling "
        "uphill, patch tubes/patched tubes/patching tubes, pump up tyres/pumped up tyres/pumping up tyres, "
        "oil the chain/oiled the chain/oiling the chain, commute by bike/commuted by bike/commuting by "
        "bike, race downhill/raced downhill/racing downhill, brake hard/braked hard/braking hard, tour the "
        "coast/toured the coast/touring the coast, shift down/shifted down/shifting down",
        "place": "on the bike path=on the cycle track, at the bike shop=at the cycle shop, on the hill=on the climb, "
        "along the river, at the finish line, in the velodrome, in the bike cellar=at the bike rack, at the "
        "tour stage, on the gravel road, over the pass",
        "good": "aerodynamic=streamlined, freshly oiled=running smoothly, uphill capable=good on hills, "
        "lightweight=light as a feather, puncture proof=hard to puncture",
        "bad": "punctured=flat, wobbly=out of true, stolen from the rack=nicked, hard on the knees=tough on the "
        "legs, rattling=clattering",
    },
    "hiking": {
        "thing": "tent=bivouac, backpack=rucksack, trail=footpath, sleeping bag=camping mat, mountain=summit, "
        "campfire=camp stove, compass=hiking map, mountain hut=refuge, waterfall=gorge, walking "
        "stick=trekking pole, torch=headlamp, picnic=trail mix",
        "doing": "hike/hiked/hiking=go hiking/went hiking/going hiking, climb/climbed/climbing, "
        "camp/camped/camping=sleep outdoors/slept outdoors/sleeping outdoors, pitch tents/pitched "
        "tents/pitching tents, light a fire/lit a fire/lighting a fire, follow the trail/followed the "
        "trail/following the trail, roast marshmallows/roasted marshmallows/roasting marshmallows, cross "
        "streams/crossed streams/crossing streams, watch birds/watched birds/watching birds, gather "
        "mushrooms/gathered mushrooms/gathering mushrooms",
        "place": "in the forest=in the woods, at the campsite=on the campground, on the peak=at the top, in the "
        "valley, by the lake=on the lake shore, in the national park=in the nature reserve, at the lookout, "
        "on the ridge, in the hut, at the spring",
        "good": "waterproof=rainproof, breathtaking=with a stunning view, well marked=well signposted, peaceful=far "
        "from the crowds, unspoilt=wild",
        "bad": "muddy=full of mud, steep=far too steep, full of mosquitoes=full of midges, slippery=icy in places, "
        "soaked=wet through",
    },
    "fitness": {
        "thing": "gym=fitness studio, treadmill=exercise bike, workout=training session, marathon=half marathon, "
        "yoga mat=yoga class, gym bag=sports bag, barbell=dumbbell, protein shake=energy bar, running "
        "shoe=trainer, swimming pool=lap pool, diet=meal plan, muscle=biceps",
        "doing": "work out/worked out/working out=exercise/exercised/exercising, jog/jogged/jogging=go running/went "
        "running/going running, lift weights/lifted weights/lifting weights, swim laps/swam laps/swimming "
        "laps, stretch/stretched/stretching, do yoga/did yoga/doing yoga=do pilates/did pilates/doing "
        "pilates, lose weight/lost weight/losing weight, sweat/sweated/sweating, do push ups/did push "
        "ups/doing push ups=do sit ups/did sit ups/doing sit ups, count calories/counted calories/counting "
        "calories",
        "place": "at the gym=in the weight room, on the treadmill, in the pool=in the swimming hall, on the running "
        "track, in the sauna, at the yoga studio, in the spinning class=in the aerobics class, in the "
        "locker room, at the marathon start, in the boot camp",
        "good": "healthy=good for the back, energising=full of energy, motivating=a real boost, low fat=sugar free, "
        "in shape=fit",
        "bad": "exhausting=tiring, painful=hurting, sweaty=drenched in sweat, out of breath=breathless, bad for the "
        "knees=hard on the joints",
    },
    "sailing": {
        "thing": "boat=sailing boat, mast=jib, anchor=mooring, harbour=marina, life jacket=life vest, rudder=tiller, "
        "regatta=boat race, rope=sheet, kayak=canoe, lighthouse=beacon, surfboard=paddle board, fishing "
        "rod=fishing net",
        "doing": "sail/sailed/sailing=go sailing/went sailing/going sailing, row/rowed/rowing, tie knots/tied "
        "knots/tying knots, dive/dived/diving=snorkel/snorkelled/snorkelling, catch fish/caught "
        "fish/catching fish=go fishing/went fishing/going fishing, steer/steered/steering, drop "
        "anchor/dropped anchor/dropping anchor, paddle/paddled/paddling, ride the waves/rode the "
        "waves/riding the waves=surf waves/surfed waves/surfing waves, hoist the sail/hoisted the "
        "sail/hoisting the sail",
        "place": "in the bay=in the cove, on deck=on board, at the pier=on the jetty, on the open sea=on the high "
        "seas, in the harbour=in the marina basin, at the yacht club, in the cabin=below deck, on the reef, "
        "at the boat rental, off the coast",
        "good": "seaworthy=fit for the sea, windy enough=in a fair wind, freshly varnished=newly varnished, calm as "
        "a pond=smooth as glass, buoyant=unsinkable",
        "bad": "stormy=rough, badly anchored=adrift, capsized=upside down, becalmed=without any wind, "
        "waterlogged=taking on water",
    },
    "snow": {
        "thing": "pair of skis=ski set, snowboard=board, sledge=toboggan, ski lift=chair lift, slope=piste, "
        "snowman=igloo, ski pass=lift pass, ski boot=binding, glove=mitten, ice rink=skating rink, ski "
        "suit=ski jacket, pair of skates=ice skate",
        "doing": "ski/skied/skiing=go skiing/went skiing/going skiing, go snowboarding/went snowboarding/going "
        "snowboarding, skate/skated/skating, throw snowballs/threw snowballs/throwing snowballs, shovel "
        "snow/shovelled snow/shovelling snow, go sledging/went sledging/going sledging=go tobogganing/went "
        "tobogganing/going tobogganing, wax skis/waxed skis/waxing skis, carve turns/carved turns/carving "
        "turns, build a snowman/built a snowman/building a snowman, fall off the lift/fell off the "
        "lift/falling off the lift",
        "place": "on the slopes=on the piste, at the ski resort=in the ski village, on the ice, in the chalet, at "
        "the valley station=at the lift station, in the powder snow, on the nursery slope, on the glacier, "
        "at the ski school, in the snow park",
        "good": "snowy=covered in snow, freshly groomed=well groomed, powdery=full of powder, frosty=crisp and cold, "
        "snow safe=sure of snow",
        "bad": "icy=frozen over, slushy=melting, foggy=lost in fog, closed by avalanche=buried, freezing cold=ice cold",
    },
    "stars": {
        "thing": "telescope=binoculars set, planet=saturn, comet=meteor, rocket=spaceship, eclipse=lunar eclipse, "
        "moon=full moon, galaxy=milky way, constellation=star sign, satellite=space station, space "
        "suit=space helmet, star map=star chart, meteor shower=shooting star",
        "doing": "watch the stars/watched the stars/watching the stars=stargaze/stargazed/stargazing, look for "
        "comets/looked for comets/looking for comets, study planets/studied planets/studying planets, make "
        "a wish/made a wish/making a wish, launch rockets/launched rockets/launching rockets, orbit the "
        "earth/orbited the earth/orbiting the earth, land on mars/landed on mars/landing on mars, count "
        "meteors/counted meteors/counting meteors, spot the north star/spotted the north star/spotting the "
        "north star, map galaxies/mapped galaxies/mapping galaxies",
        "place": "in the night sky=in the sky, at the observatory=at the planetarium, in orbit=in space, on mars=on "
        "jupiter, at the launch pad, in the milky way, on the dark side, at mission control, above the "
        "horizon, in the space museum",
        "good": "starry=full of stars, glowing=luminous, light years away=out of this world, visible to the naked "
        "eye=clearly visible, cosmic=celestial",
        "bad": "cloudy=hidden by clouds, light polluted=too close to the city, too faint=barely visible, below the "
        "horizon=already set, out of orbit=lost in space",
    },
}
